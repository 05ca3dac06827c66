// The entry point: one page for a running simulation, a recording on a server, and a self-contained report.
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { App } from './app';
import { EmbeddedSource, readEmbedded, SocketSource } from './source';

const app = new App(document.getElementById('app')!);
window.thenar = app.api;

readEmbedded()
  .then((embedded) => {
    if (!embedded) {
      app.connect((listener) => new SocketSource(listener));
      return;
    }
    app.showBenches(embedded.benches);
    app.offerRuns(embedded.runs, (i) =>
      app.connect((listener) => new EmbeddedSource(listener, embedded.runs[i])),
    );
  })
  .catch((error: unknown) => app.notify(`This page's data cannot be read: ${String(error)}`));

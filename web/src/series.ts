// The numbers of each step for the plots: the newest rows of named columns.

const MOST_ROWS = 20_000;

/** Index of the last of ascending times that is not after a time; the first if all are. */
export function lastAtOrBefore(times: ArrayLike<number>, time: number): number {
  let low = 0;
  let high = times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (times[middle] <= time + 1e-9) low = middle;
    else high = middle - 1;
  }
  return low;
}

export class Series {
  rows: Float64Array[] = [];

  constructor(readonly columns: string[]) {}

  index(name: string): number {
    return this.columns.indexOf(name);
  }

  /** Adds the rows of a message; rows of the same or, after a reset, later steps are replaced. */
  add(count: number, values: Float64Array) {
    const width = this.columns.length;
    const step = this.index('step');
    for (let r = 0; r < count; r++) {
      const row = values.slice(r * width, (r + 1) * width);
      while (step >= 0 && this.rows.length > 0 && this.rows[this.rows.length - 1][step] >= row[step]) {
        if (row[step] <= 1) this.rows = [];
        else this.rows.pop();
      }
      this.rows.push(row);
    }
    if (this.rows.length > MOST_ROWS) this.rows.splice(0, this.rows.length - MOST_ROWS);
  }

  column(index: number, from = 0): Float64Array {
    const out = new Float64Array(this.rows.length - from);
    for (let i = from; i < this.rows.length; i++) out[i - from] = this.rows[i][index];
    return out;
  }

  /** First row at or after a time. */
  firstAt(time: number): number {
    const column = this.index('time');
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.rows[middle][column] < time) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

# fingers.py: how the normal force is shared between the thumb and the fingers, from contacts.csv
import csv
import matplotlib
matplotlib.use("svg")
import matplotlib.pyplot as plt

times, thumb, fingers, sliding = [], [], [], []
with open("out/cup/contacts.csv") as file:
    for row in csv.DictReader(file):
        if (row["body_a"], row["body_b"]) != ("hand", "cup"):
            continue
        time = float(row["time"])
        if not times or times[-1] != time:
            times.append(time)
            thumb.append(0.0)
            fingers.append(0.0)
            sliding.append(0)
        force = float(row["normal_force"])
        side = thumb if float(row["position_x"]) < 0 else fingers # the thumb is on the side of -x
        side[-1] += force
        sliding[-1] += force > 0 and row["sticks"] == "0"

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(7.2, 4.8), gridspec_kw={"height_ratios": [3, 1]})
above.plot(times, thumb, label="thumb")
above.plot(times, fingers, label="index and middle finger")
above.set_ylabel("normal force, N")
above.legend()
below.plot(times, sliding)
below.set_ylabel("points that slip")
below.set_xlabel("time, s")
figure.tight_layout()
figure.savefig("fingers.svg")

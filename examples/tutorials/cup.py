#!/usr/bin/env python3
"""Writes cup.obj, the mesh of the second tutorial: a profile turned about the y axis, in millimetres."""
from math import cos, pi, sin

PROFILE = [(22, 0), (24, 2), (25, 10), (22, 30), (19, 50), (20, 65), (24, 80), (27, 95), (28, 106), (26, 108)]
SIDES = 32

with open("cup.obj", "w") as file:
    file.write("# A cup, in millimetres. Made by cup.py.\nv 0 0 0\n")
    for radius, height in PROFILE:
        for side in range(SIDES):
            angle = 2 * pi * side / SIDES
            file.write(f"v {radius * cos(angle):.3f} {height} {radius * sin(angle):.3f}\n")
    file.write(f"v 0 {PROFILE[-1][1]} 0\n")
    rings, top = len(PROFILE), 2 + SIDES * len(PROFILE)

    def vertex(ring, side):
        return 2 + SIDES * ring + side % SIDES

    for side in range(SIDES):
        file.write(f"f 1 {vertex(0, side)} {vertex(0, side + 1)}\n")
        for ring in range(rings - 1):
            a, b = vertex(ring, side), vertex(ring, side + 1)
            c, d = vertex(ring + 1, side), vertex(ring + 1, side + 1)
            file.write(f"f {a} {d} {b}\nf {a} {c} {d}\n")
        file.write(f"f {top} {vertex(rings - 1, side + 1)} {vertex(rings - 1, side)}\n")

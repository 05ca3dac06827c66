# forces.gp: what the hand does to the cup over time, from the steps.csv of a run
set datafile separator ","
set terminal svg size 720,420 background "white"
set output "forces.svg"
set xlabel "time, s"
set ylabel "force, N"
set key at graph 0.98, 0.72
plot "out/cup/steps.csv" using "time":"hand/cup_normal_force" with lines lw 2 title "normal force, all contacts", \
     "" using "time":(-column("hand/cup_force_y")) with lines lw 2 title "lift: vertical force on the cup", \
     "" using "time":"cup/table_normal_force" with lines lw 2 title "the table carries"

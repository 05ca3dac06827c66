/* One tick of the haptic loop, and the loop closed by a simulated person, in simulated time. */
#include "test.h"

#include "haptic_wall.h"

#define FREE                                                                                                           \
    (vec3) {                                                                                                           \
        0, 0.02, 0                                                                                                     \
    }

/* A tool whose force, stiffness and damping are full matrices. */
static struct haptic_linear some_linear(void) {
    struct haptic_linear linear = {.orientation = {0, 0, 0, 1}, .step = 1, .step_length = 0.01, .contacts = 1};
    for (int i = 0; i < 6; i++) {
        linear.force[i] = i < 3 ? 0.3 * (i + 1) : 0.002 * i;
        for (int j = 0; j < 6; j++) {
            double scale = (i < 3 ? 30.0 : 1.0) * (j < 3 ? 30.0 : 1.0);
            linear.stiffness[6 * i + j] = scale * ((i == j) + 0.1 * cos(i + j));
            linear.damping[6 * i + j] = 1e-3 * scale * ((i == j) + 0.1 * sin(i + j));
        }
    }
    return linear;
}

/* Gaussian elimination with pivots: shares nothing with the tick's own solver. */
static void solve_dense(double a[6][7]) {
    for (int c = 0; c < 6; c++) {
        int pivot = c;
        for (int r = c + 1; r < 6; r++)
            if (fabs(a[r][c]) > fabs(a[pivot][c])) pivot = r;
        for (int k = 0; k < 7; k++) {
            double t = a[c][k];
            a[c][k] = a[pivot][k];
            a[pivot][k] = t;
        }
        for (int r = 0; r < 6; r++) {
            if (r == c) continue;
            double f = a[r][c] / a[c][c];
            for (int k = c; k < 7; k++) a[r][k] -= f * a[c][k];
        }
    }
}

static void a_tick_is_the_implicit_step_of_its_equations(void **unused) {
    (void)unused;
    thenar_haptic_settings settings = thenar_haptic_settings_default();
    settings.one_sided = settings.passivity = false;
    settings.max_force = settings.max_torque = settings.force_slew = settings.torque_slew = 1e9;
    struct haptic_linear linear = some_linear();
    haptic_state state = {.gain = 1, .orientation = quat_identity(), .ticked = true, .last_ns = 0};
    state.device = (haptic_device){.known = true, .number = 1, .orientation = quat_identity()};
    for (int i = 0; i < 6; i++) state.velocity[i] = 0.01 * (i - 2);
    double v0[6], wrench[6], h = 1e-3;
    memcpy(v0, state.velocity, sizeof v0);
    vec3 away = {0.002, -0.001, 0.003};
    state.position = away;
    device_sample sample = sample_at(1, (vec3){0, 0, 0});
    haptic_tick(&settings, &state, &sample, &linear, 1000000, h, wrench);
    double a[6][7], x0[6] = {away.x, away.y, away.z};
    for (int i = 0; i < 6; i++) {
        double m = i < 3 ? settings.proxy_mass : settings.proxy_inertia;
        double k = i < 3 ? settings.stiffness : settings.turn_stiffness;
        double d = i < 3 ? settings.damping : settings.turn_damping;
        a[i][6] = m / h * v0[i] - k * x0[i] + linear.force[i];
        for (int j = 0; j < 6; j++) {
            a[i][j] = linear.damping[6 * i + j] + h * linear.stiffness[6 * i + j];
            a[i][6] -= linear.stiffness[6 * i + j] * x0[j];
        }
        a[i][i] += m / h + d + h * k;
    }
    solve_dense(a);
    for (int i = 0; i < 6; i++) {
        double v = a[i][6] / a[i][i], k = i < 3 ? settings.stiffness : settings.turn_stiffness;
        double d = i < 3 ? settings.damping : settings.turn_damping;
        assert_near(state.velocity[i], v, 1e-12);
        assert_near(wrench[i], k * (x0[i] + h * v) + d * v, 1e-9);
    }
}

/* Mass, dampers and elasticity, all in Kc, as simulations tell of them whose handles hang on springs without dampers. */
static void mass_and_dampers_are_no_springs(void **unused) {
    (void)unused;
    thenar_haptic_settings settings = thenar_haptic_settings_default();
    struct haptic_linear parts = some_linear(), reported = parts;
    double h = parts.step_length, wrench[6];
    for (int i = 0; i < 36; i++) {
        reported.inertia[i] = 1e-4 * parts.stiffness[i];
        reported.viscosity[i] = parts.damping[i];
        reported.stiffness[i] = parts.stiffness[i] + parts.damping[i] / h + reported.inertia[i] / (h * h);
        reported.damping[i] = 0;
    }
    haptic_state state = {0};
    device_sample sample = sample_at(1, FREE);
    haptic_tick(&settings, &state, &sample, &reported, 0, 1e-3, wrench);
    for (int i = 0; i < 36; i++) {
        assert_near(state.linear.stiffness[i], parts.stiffness[i], 1e-9);
        assert_near(state.linear.damping[i], parts.damping[i], 1e-12);
    }
    reported.viscosity[7] = -1;
    reported.step++;
    haptic_tick(&settings, &state, &sample, &reported, 1000000, 1e-3, wrench);
    assert_int_equal(state.faults[THENAR_HAPTIC_BAD_LINEAR], 1);
}

static void the_force_in_steady_contact_is_that_of_the_springs_in_a_row(void **unused) {
    (void)unused;
    double worst = 0;
    const double walls[] = {100, 1000, 10000, 100000};
    for (int i = 0; i < 4; i++) {
        haptic_world w = haptic_world_make(thenar_haptic_settings_default(), press_hand(500, 0.7), walls[i]);
        while (w.tick < 1500) haptic_world_tick(&w);
        double expected = 0.01 / (1 / w.user.stiffness + 1 / w.settings.stiffness + 1 / walls[i]);
        double error = fabs(w.wrench[1] - expected) / expected;
        print_message("wall %6.0f N/m: %.4f N, expected %.4f N\n", walls[i], w.wrench[1], expected);
        worst = fmax(worst, error);
    }
    assert_true(worst < 0.005); /* asked for: 0.05 */
}

static void the_force_is_that_of_a_simulation_at_the_loop_s_rate(void **unused) {
    (void)unused;
    double worst = 0;
    haptic_world slow = haptic_world_make(thenar_haptic_settings_default(), press_hand(500, 0.3), 2000), fast = slow;
    fast.wall.step = fast.wall.ahead = 1e-3;
    while (slow.tick < 1600) {
        haptic_world_tick(&slow);
        haptic_world_tick(&fast);
        if (slow.tick > 1200) worst = fmax(worst, fabs(slow.wrench[1] / fast.wrench[1] - 1));
    }
    print_message("steady contact: %.4f N, at 1 kHz %.4f N, at most %.3f %% apart\n", slow.wrench[1], fast.wrench[1],
                  100 * worst);
    assert_true(worst < 0.01); /* asked for: 0.05 */
}

static void free_space_does_not_drag(void **unused) {
    (void)unused;
    thenar_haptic_settings settings = thenar_haptic_settings_default();
    double drag = drag_at(settings, 0.2, 0.1);
    settings.plain = true;
    double plain = drag_at(settings, 0.2, 0.1);
    print_message("drag at 0.2 m/s: %.2g N, plain coupling %.2f N\n", drag, plain);
    assert_true(drag < 0.01); /* asked for: 0.1 */
    assert_true(plain > drag);
}

static void no_hand_at_no_wall_makes_it_swing_or_give_energy(void **unused) {
    (void)unused;
    double worst = 0, worst_open = 0;
    int runs = 0;
    for (double stiffness = 100; stiffness < 2100; stiffness *= 2.115)           /* 5 hands: 100 to 2000 N/m, */
        for (double share = 0.05; share < 1.3; share *= SANITIZED ? 8 : 2.15)    /* 5 dampings: slack to firm, */
            for (double wall = 100; wall < 2e5; wall *= SANITIZED ? 1000 : 10) { /* 4 walls */
                haptic_world w =
                    haptic_world_make(thenar_haptic_settings_default(), press_hand(stiffness, share), wall);
                w.wall.friction = 0.3;
                haptic_world open = w;
                open.settings.passivity = false;
                if (!is_stable(&w) || !is_stable(&open)) {
                    print_error("hand %g N/m, %g of critical damping, wall %g N/m\n", stiffness, share, wall);
                    fail();
                }
                worst = fmax(worst, w.state.energy.worst);
                worst_open = fmax(worst_open, open.state.energy.worst);
                runs++;
            }
    print_message("%d runs: at most %.2g mJ more out than in, %.2g mJ without the passivity controller\n", runs,
                  1e3 * worst, 1e3 * worst_open);
    assert_true(worst < 1e-3);
}

static void no_tool_of_its_own_mass_makes_it_swing_or_give_energy(void **unused) {
    (void)unused;
    double worst = 0, worst_open = 0;
    for (double stiffness = 100; stiffness < 2100; stiffness *= 4.47)
        for (double share = 0.05; share < 1.3; share *= 4.47)
            for (double tool = 0.02; tool < 0.5; tool *= SANITIZED ? 19 : 4.47)
                for (double wall = 300; wall < 1e5; wall *= 10) {
                    haptic_world w =
                        haptic_world_make(thenar_haptic_settings_default(), press_hand(stiffness, share), wall);
                    w.wall.friction = 0.3;
                    w.wall.tool = tool;
                    haptic_world open = w;
                    open.settings.passivity = false;
                    if (!is_stable(&w) || !is_stable(&open)) {
                        print_error("hand %g N/m, %g of critical damping, wall %g N/m, tool %g kg\n", stiffness, share,
                                    wall, tool);
                        fail();
                    }
                    worst = fmax(worst, w.state.energy.worst);
                    worst_open = fmax(worst_open, open.state.energy.worst);
                }
    print_message("at most %.2g mJ more out than in, %.2g mJ without the passivity controller\n", 1e3 * worst,
                  1e3 * worst_open);
    assert_true(worst < 1e-3);
}

static void slow_simulations_do_not_make_it_swing_or_give_energy(void **unused) {
    (void)unused;
    double worst = 0;
    for (double step = 0.02; step < 0.04; step += 0.013)
        for (double stiffness = 100; stiffness < 2100; stiffness *= 4.47)
            for (double share = 0.05; share < 1.3; share *= 4.47)
                for (double wall = 300; wall < 2e5; wall *= 10) {
                    haptic_world w =
                        haptic_world_make(thenar_haptic_settings_default(), press_hand(stiffness, share), wall);
                    w.wall.friction = 0.3;
                    w.wall.step = step;
                    w.wall.ahead = 0.02; /* the maximum extrapolation */
                    if (!is_stable(&w)) {
                        print_error("hand %g N/m, %g of critical damping, wall %g N/m, %g s\n", stiffness, share, wall,
                                    step);
                        fail();
                    }
                    worst = fmax(worst, w.state.energy.worst);
                }
    print_message("steps of 20 and 33 ms: at most %.2g mJ more out than in\n", 1e3 * worst);
    assert_true(worst < 1e-3);
}

/* A device that is led into a wall, out of it, and in again after so many ms; the simulation takes the wall away while
 * it is out if `gone`, and is only heard every 10 ms. The force when it is in again. */
static double force_after(int ms, bool gone) {
    haptic_world w = haptic_world_make(thenar_haptic_settings_default(), press_hand(500, 1), 2000);
    int64_t out = 600;
    for (; w.tick < out + ms; w.tick++) {
        int64_t now_ns = w.tick * 1000000;
        bool is_in = w.tick < out || (gone && w.tick >= out + ms - 25) || w.tick >= out + ms - 15;
        w.person.position = (vec3){0, is_in ? -0.002 : 0.002, 0};
        w.person.velocity = (vec3){0, 0, 0};
        if (gone && w.tick == out + 15) w.wall.stiffness = 0;
        if (gone || w.tick < out + ms - 15) haptic_world_simulate(&w, now_ns);
        device_sample sample = {.number = (uint64_t)w.tick + 1};
        user_sample(&w.person, sample.number, &sample.body);
        haptic_tick(&w.settings, &w.state, &sample, &w.reported, now_ns, w.dt, w.wrench);
    }
    return w.wrench[1];
}

static void a_wall_is_remembered_for_a_moment_and_forgotten_when_it_is_gone(void **unused) {
    (void)unused;
    /* The proxy itself arrives with a swing of half a newton. */
    double soon = force_after(38, false), late = force_after(138, false), gone = force_after(60, true);
    print_message("met again after 23 ms: %.2f N, after 123 ms: %.2f N; taken away: %.2f N\n", soon, late, gone);
    assert_true(soon > 1);   /* just left: it is still there */
    assert_true(late < 0.3); /* long ago: the simulation has to say so */
    assert_true(gone < 0.3); /* and here it said that there is none */
}

/* The device is shaken in free air: what is felt is the mass of tool and proxy, not a mass of some steps ago. */
static void a_free_tool_feels_like_its_mass(void **unused) {
    (void)unused;
    for (int reported = 0; reported < 2; reported++) {
        haptic_world w = haptic_world_make(thenar_haptic_settings_default(), press_hand(500, 1), 2000);
        w.wall.tool = 0.2;
        w.wall.hides_inertia = !reported;
        w.wall.tie = 2e6; /* rigid */
        w.wall.tie_damping = 2000;
        double omega = 2 * M_PI * 3, size = 0.02, worst = 0, strongest = 0;
        for (; w.tick < 3000; w.tick++) {
            double t = 1e-3 * (double)w.tick;
            w.person.position = (vec3){size * sin(omega * t), 0.5, 0};
            w.person.velocity = (vec3){size * omega * cos(omega * t), 0, 0};
            haptic_world_simulate(&w, w.tick * 1000000);
            device_sample sample = {.number = (uint64_t)w.tick + 1};
            user_sample(&w.person, sample.number, &sample.body);
            haptic_tick(&w.settings, &w.state, &sample, &w.reported, w.tick * 1000000, w.dt, w.wrench);
            double expected = (0.2 + w.settings.proxy_mass) * size * omega * omega * sin(omega * t);
            if (w.tick > 1000) worst = fmax(worst, fabs(w.wrench[0] - expected));
            strongest = fmax(strongest, fabs(expected));
        }
        print_message("0.2 kg shaken at 3 Hz%s: %.2f N, at most %.3f N off\n",
                      reported ? "" : ", inertia not published", strongest, worst);
        if (reported) assert_true(worst < 0.2 * strongest); /* K, M and a tick: 10 % at 3 Hz */
    }
}

static void a_device_of_coarse_positions_is_calm_too(void **unused) {
    (void)unused;
    double worst = 0;
    for (double stiffness = 100; stiffness < 2100; stiffness *= 4.47)
        for (double share = 0.05; share < 1.3; share *= 4.47)
            for (double wall = 1000; wall < 2e5; wall *= 100) {
                haptic_world w =
                    haptic_world_make(thenar_haptic_settings_default(), press_hand(stiffness, share), wall);
                w.positions_only = true;
                w.resolution = 55e-6; /* a Phantom Omni's */
                if (!is_stable(&w)) {
                    print_error("hand %g N/m, %g of critical damping, wall %g N/m\n", stiffness, share, wall);
                    fail();
                }
                worst = fmax(worst, w.state.energy.worst);
            }
    print_message("positions only, to 55 um: at most %.2g mJ more out than in\n", 1e3 * worst);
    assert_true(worst < 1e-3);
}

/* The device is led 5 mm below the wall's surface, at 0.2 m/s along it. */
static void sliding_feels_like_friction_and_nothing_else(void **unused) {
    (void)unused;
    for (int i = 0; i < 6; i++) {
        double tool = i / 2 == 0 ? 0.02 : i / 2 == 1 ? 0.09 : 0.4;
        haptic_world w = haptic_world_make(thenar_haptic_settings_default(), press_hand(500, 1), 2000);
        w.wall.tool = tool;
        w.wall.hides_inertia = i % 2;
        w.wall.friction = 0.3;
        double mean = 0, low = INFINITY, high = -INFINITY, normal = 0;
        for (; w.tick < 2000; w.tick++) {
            int64_t now_ns = w.tick * 1000000;
            w.person.position = (vec3){w.tick > 500 ? 0.2e-3 * (double)(w.tick - 500) : 0, -0.005, 0};
            w.person.velocity = (vec3){w.tick > 500 ? 0.2 : 0, 0, 0};
            haptic_world_simulate(&w, now_ns);
            device_sample sample = {.number = (uint64_t)w.tick + 1};
            user_sample(&w.person, sample.number, &sample.body);
            haptic_tick(&w.settings, &w.state, &sample, &w.reported, now_ns, w.dt, w.wrench);
            if (w.tick < 1000) continue;
            mean += w.wrench[0] / 1000, normal += w.wrench[1] / 1000;
            low = fmin(low, w.wrench[0]), high = fmax(high, w.wrench[0]);
        }
        print_message("tool of %.2f kg%s: friction %.4f N (%.4f to %.4f), expected %.4f N\n", tool,
                      i % 2 ? ", inertia not published" : "", mean, low, high, -0.3 * normal);
        assert_near(mean, -0.3 * normal, 0.01 * normal);
        assert_true(high - low < 0.05 * normal);
    }
}

static void a_coupling_that_is_too_stiff_gives_no_energy_if_it_is_watched(void **unused) {
    (void)unused;
    haptic_world w = haptic_world_make(thenar_haptic_settings_default(), press_hand(100, 0.05), 1e5);
    w.settings.stiffness = w.wall.coupling = 4000;
    haptic_world open = w;
    open.settings.passivity = false;
    while (w.tick < 3300) haptic_world_tick(&w);
    while (open.tick < 3300) haptic_world_tick(&open);
    print_message("4000 N/m: at most %.3f mJ more out than in, %.0f mJ if it is not watched\n",
                  1e3 * w.state.energy.worst, 1e3 * open.state.energy.worst);
    assert_true(w.state.energy.worst < 1e-3);
    assert_true(w.state.faults[THENAR_HAPTIC_HELD_BACK] > 0);
    assert_true(open.state.energy.worst > 5e-3); /* otherwise this tests nothing */
}

static void the_linearization_renders_walls_five_times_stiffer(void **unused) {
    (void)unused;
    double linear = stiffest(false, false, 0.1).felt, held = stiffest(false, true, 0.1).felt;
    double plain = stiffest(true, false, 0.1).felt;
    stiff_wall dragging = stiffest(true, false, INFINITY);
    print_message("stiffest stable wall: %.0f N/m linearized; %.0f N/m with the simulation's force held; %.0f N/m by a "
                  "plain coupling with the same drag (under 0.1 N at 0.2 m/s), %.0f N/m with a drag of %.1f N\n",
                  linear, held, plain, dragging.felt, dragging.drag);
    assert_true(linear >= 5 * held);
    assert_true(linear >= 5 * plain);
}

static void a_wall_that_is_foreseen_is_not_felt_before_it_is_met(void **unused) {
    (void)unused;
    haptic_world w = haptic_world_make(thenar_haptic_settings_default(), press_hand(2000, 1), 5000);
    while (w.tick < 700) {
        haptic_world_tick(&w);
        if (w.person.position.y > 1e-4 && w.tick > 400) assert_true(fabs(w.wrench[1]) < 0.1);
        if (w.person.position.y < -1e-3) assert_true(w.wrench[1] > 0.3);
    }
}

static void forces_stay_within_their_limits_and_change_no_faster(void **unused) {
    (void)unused;
    haptic_world w = haptic_world_make(thenar_haptic_settings_default(), press_hand(2000, 0.05), 1e5);
    w.settings.max_force = 3;
    w.settings.force_slew = 200;
    while (w.tick < 3300) {
        haptic_world_tick(&w);
        assert_true(force_size(&w) <= 3 + 1e-12);
        vec3 change = vec3_sub(vec3_load(w.wrench), vec3_load(w.before));
        assert_true(vec3_length(change) <= 0.2 + 1e-12);
    }
    assert_true(w.state.faults[THENAR_HAPTIC_CLAMPED] > 0);
    assert_true(w.state.faults[THENAR_HAPTIC_SLEWED] > 0);
}

static void turns_are_felt_as_moves_are(void **unused) {
    (void)unused;
    thenar_haptic_settings settings = thenar_haptic_settings_default();
    struct haptic_linear linear = {.orientation = {0, 0, 0, 1}, .step = 1, .step_length = 0.01, .contacts = 1};
    linear.stiffness[28] = 3; /* N m/rad about y */
    settings.one_sided = false;
    haptic_state state = {0};
    double wrench[6], angle = 0.1;
    for (int64_t tick = 0; tick < 600; tick++) {
        device_sample sample = sample_at((uint64_t)tick + 1, FREE);
        sample.body.pose[4] = sin(angle / 2);
        sample.body.pose[6] = cos(angle / 2);
        linear.step++;
        linear.published_ns = tick * 1000000;
        haptic_tick(&settings, &state, &sample, &linear, tick * 1000000, 1e-3, wrench);
    }
    assert_near(wrench[4], -angle / (1 / settings.turn_stiffness + 1 / 3.0), 1e-9);
    for (int i = 0; i < 6; i++)
        if (i != 4) assert_near(wrench[i], 0, 1e-9);
}

/* A tool that is held: a spring to the origin both ways, in moves or in turns, published exactly every 10 ms. */
static void feel_held(haptic_state *state, const thenar_haptic_settings *settings, const user_model *user, int axis,
                      double k, double *worst, bool *calm) {
    user_state person = user_begin(user);
    struct haptic_linear reported = {.orientation = {0, 0, 0, 1}, .step_length = 0.01, .contacts = 7};
    double wrench[6] = {0}, before[6], c = axis < 3 ? settings->stiffness : settings->turn_stiffness;
    double swings[2] = {0, 0};
    for (int64_t tick = 0; tick < 4000; tick++) {
        vec3 turn = quat_to_rotation_vector(person.orientation);
        double at = axis < 3 ? (&person.position.x)[axis] : (&turn.x)[axis - 3];
        if (tick % 10 == 0) {
            double x = at * c / (c + k);
            reported.step++;
            reported.published_ns = tick * 1000000;
            reported.stiffness[7 * axis] = k;
            reported.force[axis] = -k * x;
            if (axis < 3)
                reported.position[axis] = x;
            else {
                reported.orientation[axis - 3] = sin(x / 2);
                reported.orientation[3] = cos(x / 2);
            }
        }
        device_sample sample = {.number = (uint64_t)tick + 1};
        user_sample(&person, sample.number, &sample.body);
        memcpy(before, wrench, sizeof before);
        haptic_tick(settings, state, &sample, &reported, tick * 1000000, 1e-3, wrench);
        user_advance(user, &person, before, 1e-3);
        if (tick > 1500) *worst = fmax(*worst, fabs(wrench[axis] + at * c * k / (c + k)));
        if (tick > 3000) swings[tick > 3500] = fmax(swings[tick > 3500], fabs(at));
    }
    *calm = swings[1] < 1.05 * swings[0];
}

static void what_is_held_from_both_sides_does_not_let_go_in_between(void **unused) {
    (void)unused;
    const user_key keys[] = {{0, {0, 0, 0}, {0, 0, 0}},
                             {0.25, {0, 0.01, 0}, {0, 0, 0}},
                             {0.75, {0, -0.01, 0}, {0, 0, 0}},
                             {1, {0, 0, 0}, {0, 0, 0}}};
    user_model user = press_hand(1000, 0.7);
    user.keys = (user_key *)(uintptr_t)keys;
    user.key_count = 4;
    user.repeat = true;
    thenar_haptic_settings settings = thenar_haptic_settings_default();
    haptic_state state = {0};
    double worst = 0;
    bool calm;
    feel_held(&state, &settings, &user, 1, 1000, &worst, &calm);
    print_message("held by 1000 N/m and shaken with up to 5 N: at most %.3f N off\n", worst);
    assert_true(state.both_sides);
    assert_true(worst < 0.25); /* the damping of the coupling, 6 N s/m at 0.08 m/s through a spring of half of it */
}

static void turns_of_a_slack_hand_do_not_swing_up(void **unused) {
    (void)unused;
    const user_key keys[] = {{0, {0, 0.02, 0}, {0, 0, 0}}, {0.2, {0, 0.02, 0}, {0, 0, 0.1}}};
    for (double k = 0.5; k < 600; k *= 10)
        for (double share = 0.05; share < 1.2; share *= 4) {
            user_model user = press_hand(500, 0.5);
            user.turn_damping = 2 * share * sqrt(user.turn_stiffness * user.inertia);
            user.keys = (user_key *)(uintptr_t)keys;
            user.key_count = 2;
            thenar_haptic_settings settings = thenar_haptic_settings_default();
            haptic_state state = {0};
            double worst = 0;
            bool calm;
            feel_held(&state, &settings, &user, 5, k, &worst, &calm);
            assert_true(calm);
            assert_true(state.energy.worst < 1e-3);
        }
}

static void the_energy_is_that_of_force_times_way(void **unused) {
    (void)unused;
    haptic_world w = haptic_world_make(thenar_haptic_settings_default(), press_hand(500, 0.3), 2000);
    w.late = false; /* what is sent is held until the next sample */
    double in = 0, out = 0;
    while (w.tick < 3000) {
        vec3 before = w.person.position;
        haptic_world_tick(&w);
        double given = vec3_dot(vec3_load(w.wrench), vec3_sub(w.person.position, before));
        if (given > 0)
            out += given;
        else
            in -= given;
    }
    assert_near(w.state.energy.in, in, 1e-6);
    assert_near(w.state.energy.out, out, 1e-6);
    assert_true(in > 1e-3);
}

/* A tool of 3 N that is let down by 10 cm and set on a wall: its weight is felt all the way, and the wall is quiet. */
static void weight_is_felt_and_does_not_use_up_the_energy_of_a_wall(void **unused) {
    (void)unused;
    const user_key keys[] = {
        {0, {0, 0.1, 0}, {0, 0, 0}}, {0.8, {0, 0.1, 0}, {0, 0, 0}}, {1.8, {0, -0.01, 0}, {0, 0, 0}}};
    user_model user = press_hand(500, 0.2);
    user.keys = (user_key *)(uintptr_t)keys;
    user.key_count = 3;
    haptic_world w = haptic_world_make(thenar_haptic_settings_default(), user, 2000);
    double low = INFINITY, high = -INFINITY;
    while (w.tick < 4000) {
        int64_t now_ns = w.tick * 1000000;
        bool updates = w.tick % 10 == 0;
        haptic_world_simulate(&w, now_ns);
        if (updates) w.reported.force[1] -= 3;
        haptic_world_feel(&w, now_ns);
        if (w.tick > 1000 && w.tick < 1200) assert_near(w.wrench[1], -3, 0.3);
        if (w.tick > 3500) low = fmin(low, w.wrench[1]), high = fmax(high, w.wrench[1]);
    }
    print_message("3 N of weight on a wall: %.3f to %.3f N, %.3f mJ more out than in\n", low, high,
                  1e3 * w.state.energy.worst);
    assert_true(high - low < 0.01);
    assert_true(w.state.energy.worst < 1e-3);
}

/* What a force that is all weight gives a device that moves as told, J; *held: ticks in which it was held back. */
static double give_weight(haptic_energy *energy, double seconds, double (*weight_at)(double t),
                          double (*speed_at)(double t), int *held) {
    const double h = 1e-3;
    double before = energy->out - energy->in;
    *held = 0;
    for (double t = 0; t < seconds; t += h) {
        double weight[6] = {0, weight_at(t)}, wrench[6] = {0, weight_at(t)}, velocity[6] = {0, speed_at(t)};
        *held += haptic_energy_limit(energy, weight, velocity, 0.0005, h, wrench);
        haptic_energy_send(energy, wrench, weight, 1);
        const double move[6] = {0, h * speed_at(t)};
        haptic_energy_observe(energy, move, 0.5);
    }
    return energy->out - energy->in - before;
}

static double pound(double t) {
    (void)t;
    return -5;
}
static double up_and_down(double t) {
    return 0.3 * sin(2 * M_PI * t / 2 + M_PI); /* 19 cm down, and up again, in 2 s */
}
static double down(double t) {
    (void)t;
    return -0.1;
}
static double swings(double t) {
    return 5 * sin(2 * M_PI * 4 * t);
}
static double swings_along(double t) {
    return 0.5 * sin(2 * M_PI * 4 * t);
}

/* A force that always pushes the way the device goes is no weight, whatever it is called. */
static void weight_that_is_none_gives_only_so_much_energy(void **unused) {
    (void)unused;
    int held;
    haptic_energy lowered = {.share = 1, .weight_share = 1}, shaken = lowered, dropped = lowered;
    assert_near(give_weight(&lowered, 60, pound, up_and_down, &held), 0, 0.01);
    assert_int_equal(held, 0);
    /* It would give 1.25 W, 75 J in all. */
    double given = give_weight(&shaken, 60, swings, swings_along, &held);
    assert_true(held > 1000 && given > 2 && given < 2 + 0.1 * 60 + 0.1);
    /* 0.5 W for six seconds. */
    given = give_weight(&dropped, 6, pound, down, &held);
    assert_true(held > 0 && given > 2 && given < 2 + 0.1 * 6 + 0.1);
}

static void the_same_input_gives_the_same_bits(void **unused) {
    (void)unused;
    haptic_world a = haptic_world_make(thenar_haptic_settings_default(), press_hand(500, 0.1), 3000), b = a;
    while (a.tick < 1000) haptic_world_tick(&a);
    while (b.tick < 1000) haptic_world_tick(&b);
    assert_memory_equal(a.wrench, b.wrench, sizeof a.wrench);
    assert_memory_equal(&a.state.position, &b.state.position, sizeof a.state.position);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_tick_is_the_implicit_step_of_its_equations),
    cmocka_unit_test(mass_and_dampers_are_no_springs),
    cmocka_unit_test(the_force_in_steady_contact_is_that_of_the_springs_in_a_row),
    cmocka_unit_test(the_force_is_that_of_a_simulation_at_the_loop_s_rate),
    cmocka_unit_test(free_space_does_not_drag),
    cmocka_unit_test(no_hand_at_no_wall_makes_it_swing_or_give_energy),
    cmocka_unit_test(no_tool_of_its_own_mass_makes_it_swing_or_give_energy),
    cmocka_unit_test(slow_simulations_do_not_make_it_swing_or_give_energy),
    cmocka_unit_test(a_wall_is_remembered_for_a_moment_and_forgotten_when_it_is_gone),
    cmocka_unit_test(a_free_tool_feels_like_its_mass),
    cmocka_unit_test(a_device_of_coarse_positions_is_calm_too),
    cmocka_unit_test(sliding_feels_like_friction_and_nothing_else),
    cmocka_unit_test(a_coupling_that_is_too_stiff_gives_no_energy_if_it_is_watched),
    cmocka_unit_test(the_linearization_renders_walls_five_times_stiffer),
    cmocka_unit_test(a_wall_that_is_foreseen_is_not_felt_before_it_is_met),
    cmocka_unit_test(forces_stay_within_their_limits_and_change_no_faster),
    cmocka_unit_test(turns_are_felt_as_moves_are),
    cmocka_unit_test(what_is_held_from_both_sides_does_not_let_go_in_between),
    cmocka_unit_test(turns_of_a_slack_hand_do_not_swing_up),
    cmocka_unit_test(the_energy_is_that_of_force_times_way),
    cmocka_unit_test(weight_is_felt_and_does_not_use_up_the_energy_of_a_wall),
    cmocka_unit_test(weight_that_is_none_gives_only_so_much_energy),
    cmocka_unit_test(the_same_input_gives_the_same_bits),
};

TEST_MAIN(tests)

/** Draws binomial counts: how many of n independent trials succeed. Exact; the cost does not increase with n. */

/** Returns independent numbers in (0, 1). */
export type Draw = () => number;

/** Below this number of expected successes, inversion (summing the chances of 0, 1, 2, …) is faster than rejection. */
const INVERSION_LIMIT = 10;

export function binomial(n: number, p: number, draw: Draw): number {
  if (n <= 0 || p <= 0) return 0;
  if (p >= 1) return n;
  if (p > 0.5) return n - binomial(n, 1 - p, draw);
  return n * p < INVERSION_LIMIT ? byInversion(n, p, draw) : byRejection(n, p, draw);
}

function byInversion(n: number, p: number, draw: Draw): number {
  const odds = p / (1 - p);
  let left = draw();
  let chance = Math.exp(n * Math.log1p(-p)); // of 0 successes
  let successes = 0;
  while (left > chance && successes < n) {
    left -= chance;
    successes += 1;
    chance *= (odds * (n - successes + 1)) / successes;
  }
  return successes;
}

/**
 * Transformed rejection with squeeze: algorithm BTRS of Hörmann, "The generation of binomial random variates", J. Stat.
 * Comput. Simul. 46 (1993).
 */
function byRejection(n: number, p: number, draw: Draw): number {
  const odds = p / (1 - p);
  const deviation = Math.sqrt(n * p * (1 - p));
  const b = 1.15 + 2.53 * deviation;
  const a = -0.0873 + 0.0248 * b + 0.01 * p;
  const center = n * p + 0.5;
  const acceptance = 0.92 - 4.2 / b;
  for (;;) {
    const u = draw() - 0.5;
    const v = draw();
    const edge = 0.5 - Math.abs(u);
    const k = Math.floor(((2 * a) / edge + b) * u + center);
    if (edge >= 0.07 && v <= acceptance) return k;
    if (k < 0 || k > n) continue;
    const mode = Math.floor((n + 1) * p);
    const alpha = (2.83 + 5.1 / b) * deviation;
    const relative =
      logFactorial(mode) + logFactorial(n - mode) - logFactorial(k) - logFactorial(n - k) + (k - mode) * Math.log(odds);
    if (Math.log((v * alpha) / (a / (edge * edge) + b)) <= relative) return k;
  }
}

/** For 0 to 9. Stirling's series is accurate enough above. */
const LOG_FACTORIALS = [1, 1, 2, 6, 24, 120, 720, 5040, 40_320, 362_880].map(Math.log);

function logFactorial(k: number): number {
  const x = k + 1;
  return (
    LOG_FACTORIALS[k] ??
    (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + 1 / (12 * x) - 1 / (360 * x ** 3) + 1 / (1260 * x ** 5)
  );
}

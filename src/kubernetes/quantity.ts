/** Amounts as Kubernetes writes them. */

const UNITS: Readonly<Record<string, number>> = {
  ...{ '': 1, m: 0.001, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 },
  ...{ Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4, Pi: 1024 ** 5 },
};

/** Parses an amount of bytes, CPUs, or devices: `10Gi`, `500m`, `1e9`. Undefined if it is none. */
export function parseQuantity(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?(?:[eE]\d+)?)([a-zA-Z]{0,2})$/.exec(text);
  const unit = UNITS[match?.[2] ?? ''];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
}

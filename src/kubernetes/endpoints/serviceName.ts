/** Finds the Service that an endpoint names, as pods write it: `http://NAME[.NAMESPACE[.svc[.DOMAIN]]][:PORT]/…`. */

const HOST = /^([a-z](?:[a-z0-9-]*[a-z0-9])?)(?:\.([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)(?:\.svc(?:\.[a-z0-9.-]+)?)?)?\.?$/;

/**
 * Returns the name of the Service in `namespace`, or undefined if the endpoint is elsewhere. Also undefined for
 * `https`: its certificate names the Service, so pods cannot be called by their addresses.
 */
export function serviceOf(endpoint: string, namespace: string): string | undefined {
  if (!URL.canParse(endpoint)) return undefined;
  const { protocol, hostname } = new URL(endpoint);
  if (protocol !== 'http:' || hostname === 'localhost') return undefined;
  const [, name, own = namespace] = HOST.exec(hostname) ?? [];
  return own === namespace ? name : undefined;
}

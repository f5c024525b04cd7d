import { publicUrl } from './redaction/hidable.ts';

/**
 * Returns the name of an endpoint for what is announced about it: its URL without anything that could be secret, and
 * without a slash at its end. `demo:…` is its own name.
 */
export function endpointKey(endpoint: string): string {
  return publicUrl(endpoint);
}

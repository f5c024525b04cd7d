/** Samples of the server's state while the page is open: the server keeps no history. */
import { useRef } from 'preact/hooks';
import type { ServerInfo } from '../../../src/protocol/client.ts';

export interface Samples {
  readonly queued: number;
  /** The fullest of its endpoints, from 0 to 1. */
  readonly cache: number | undefined;
}

const KEPT = 300;

export function useSamples(server: ServerInfo | undefined): readonly Samples[] {
  const samples = useRef<Samples[]>([]);
  const last = useRef<ServerInfo | undefined>(undefined);
  if (server !== undefined && server !== last.current) {
    last.current = server;
    const caches = server.endpoints.flatMap(({ kv_cache: cache }) => cache ?? []);
    samples.current = [
      ...samples.current,
      { queued: server.queued, cache: caches.length === 0 ? undefined : Math.max(...caches) },
    ].slice(-KEPT);
  }
  return samples.current;
}

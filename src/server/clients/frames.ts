/** Formats frames to clients. Events are JSON texts already and are embedded unchanged. */
import type { ServerToClient } from '../../protocol/client.ts';

export function frame(value: ServerToClient): string {
  return JSON.stringify(value);
}

export function eventsFrame(sub: string, bodies: readonly string[]): string {
  return `{"type":"events","sub":${JSON.stringify(sub)},"events":[${bodies.join(',')}]}`;
}

import { ClassedError } from '../trace/classedError.ts';

/**
 * The process of a world's session was killed, and not by its own code: the machine ran short of memory, or somebody
 * ended it. What it was asked did not happen, and can be asked again once the world is restored.
 */
export class SessionKilled extends ClassedError {
  constructor(message: string, options: { readonly cause?: unknown } = {}) {
    super('world_error', message, { ...options, blame: 'world' });
  }
}

/** Returns whether an error says that, or has such a cause. */
export function isKilled(error: unknown): boolean {
  return error instanceof SessionKilled || (error instanceof Error && error.cause instanceof SessionKilled);
}

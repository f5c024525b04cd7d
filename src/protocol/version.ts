/** Major version of the protocol of clients. Both ends must agree. */
export const PROTOCOL = 4;

declare const __WORKER_PROTOCOL__: number | undefined;

/**
 * Version of the protocol of workers. Pods of running batches keep their programs while a server is upgraded or rolled
 * back, so a server and a worker also understand the version before and after their own: a new version may only add
 * frames and optional fields, and each end ignores those that it does not know. Tests build programs of other versions.
 */
export const WORKER_PROTOCOL: number = typeof __WORKER_PROTOCOL__ === 'number' ? __WORKER_PROTOCOL__ : 5;

/** Returns whether ends of these versions understand each other. */
export function areCompatible(one: number, other: number): boolean {
  return Math.abs(one - other) <= 1;
}

declare const __STORE_VERSION__: number | undefined;

/** Version of the tables of a store. A store of a newer version is refused. */
export const STORE_VERSION: number = typeof __STORE_VERSION__ === 'number' ? __STORE_VERSION__ : 15;

import type { Store } from '../../../src/store/store.ts';

/** What every part of the contract gets: one open store of the kind under test, shared by all tests of the part. */
export interface Subject {
  readonly kind: 'sqlite' | 'postgres';
  store(): Store;
  /** Another server on the same data: the same object where a store has one server only. */
  other(): Store;
  /** A store of its own, empty, with a lease so short that a test can see it end. Closed by the suite. */
  fresh(options?: { leaseMs?: number; packDelayMs?: number }): Promise<Store>;
}

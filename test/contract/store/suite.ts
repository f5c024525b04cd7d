import type { Store } from '../../../src/store/store.ts';

/** Input of every part of the contract: one open store of the kind under test, shared by all tests of the part. */
export interface Subject {
  readonly kind: 'sqlite' | 'postgres';
  store(): Store;
  /** Another server on the same data: the same object where a store has one server only. */
  other(): Store;
  /** Opens a separate, empty store with a lease so short that a test can see it end. The suite closes it. */
  fresh(options?: { leaseMs?: number; packDelayMs?: number; auditEntries?: number }): Promise<Store>;
}

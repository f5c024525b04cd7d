/** Loaded before each test file that has its own process, so that this ends after its tests. */
import { after } from 'node:test';
import { isMainThread } from 'node:worker_threads';
import { endDespiteLeftovers } from './leftovers.ts';

// Threads and processes that tests start may get the same options of Node.
if (isMainThread && process.argv[1]?.endsWith('.test.ts') === true) after(endDespiteLeftovers);

/** Copies the write-ahead log of a store into its database whenever it gets a message. See `Checkpoints`. */
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from './driver.ts';

const port = parentPort;
if (port === null || typeof workerData !== 'string') throw new Error('This runs as a thread, with the database file.');
const database = openDatabase(workerData, { readOnly: false });
database.exec('PRAGMA fullfsync = 1; PRAGMA synchronous = NORMAL;');
const copy = database.prepare('PRAGMA wal_checkpoint(PASSIVE)');

port.on('message', () => {
  copy.get();
  port.postMessage('copied');
});
port.on('close', () => database.close());

/**
 * Builds templates in a process of its own: published statements may take any amount of time, and SQLite cannot be
 * interrupted from within. Each line of standard input is a request; each line of standard output is its result.
 */
import { createInterface } from 'node:readline';
import { errorText } from '../../../common/errors.ts';
import { openDatabase } from '../../../store/sqlite/driver.ts';
import { buildTemplate, templateRequest } from './build.ts';

createInterface({ input: process.stdin }).on('line', (line) => {
  let result: object;
  try {
    result = buildTemplate(templateRequest.parse(JSON.parse(line)), (file) => openDatabase(file, { readOnly: false }));
  } catch (error) {
    result = { failure: errorText(error) };
  }
  process.stdout.write(`${JSON.stringify(result)}\n`);
});

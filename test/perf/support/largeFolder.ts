/** A folder of published worlds with the sizes of AWM-1K: 1,000 scenarios, about 500 MB. */
import { scenarioRows, writeAwmFolder } from '../../support/awmFolder.ts';

export const SCENARIOS = 1_000;

/** Characters for each scenario; of verifiers and endpoints there are two. */
const SIZES = {
  schema: 12_000,
  rows: 36_000,
  spec: 33_000,
  code: 100_000,
  codeVerifier: 22_000,
  sqlVerifier: 118_000,
};

/** Its scenarios are `shelf_0` and so on. */
export function writeLargeFolder(folder: string): void {
  writeAwmFolder(
    folder,
    (function* () {
      for (let index = 0; index < SCENARIOS; index++) yield scenarioRows(`shelf_${index}`, SIZES);
    })(),
  );
}

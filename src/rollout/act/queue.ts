/** What decides when an effect's turn has come. `recorded`: seq of the start, of one that the record answers. */
export interface Queue {
  run<T>(task: () => Promise<T>, recorded?: number): Promise<T>;
}

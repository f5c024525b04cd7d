/** Who ends what is left of a process when its parent dies: the worker's reaper. Ids are those of group leaders. */
export interface ProcessGroups {
  add(pid: number): void;
  remove(pid: number): void;
}

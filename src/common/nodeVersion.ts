/** The Node versions that programs run on. The store needs `node:sqlite` without a flag, available since 22.13. */
const MIN_NODE = [22, 13] as const;

/** Returns one sentence for a Node that is too old, or undefined. `version`: as in `process.versions.node`. */
export function nodeProblem(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [minMajor, minMinor] = MIN_NODE;
  if (major > minMajor || (major === minMajor && minor >= minMinor)) return undefined;
  return `Rollout Studio needs Node ${minMajor}.${minMinor} or newer, but this is Node ${version}.`;
}

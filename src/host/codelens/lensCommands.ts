/** With several batch files to choose from, these ask. Not in the manifest: only lenses name them. */
export const LAUNCH_ONE = 'rollout.lens.launchOne';
export const LAUNCH_TASK = 'rollout.lens.launchTask';

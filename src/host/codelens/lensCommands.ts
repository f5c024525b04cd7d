/** Commands used only by lenses, so not in the manifest. They let the user pick if several batch files apply. */
export const LAUNCH_FILE = 'rollout.lens.launchOne';
export const LAUNCH_TASK = 'rollout.lens.launchTask';

/** Commands of the lenses over verifiers; they are not in the manifest. */
export const VERIFIER_COMMANDS = {
  run: 'rollout.verifiers.run',
  cancel: 'rollout.verifiers.cancel',
  show: 'rollout.verifiers.show',
} as const;

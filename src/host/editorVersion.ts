/** The oldest VS Code that has the Node which the store needs (src/common/nodeVersion.ts): 1.101 brought Node 22.15. */
const MIN_VSCODE = '1.101';

/** For `engines` of the manifest. */
export const VSCODE_ENGINE = `^${MIN_VSCODE}.0`;

/** What users of an older editor are shown instead of a failed activation: a fork may ignore `engines`. */
export const OLD_EDITOR =
  `Rollout Studio needs VS Code ${MIN_VSCODE} or newer. Update VS Code, then reload the ` + `window.`;

/** The oldest VS Code whose Node.js the store supports (src/common/nodeVersion.ts): 1.101 has Node.js 22.15. */
const MIN_VSCODE = '1.101';

/** For `engines` of the manifest. */
export const VSCODE_ENGINE = `^${MIN_VSCODE}.0`;

/** Shown in older editors instead of a failed activation, because forks of VS Code may ignore `engines`. */
export const OLD_EDITOR_TEXT =
  `Rollout Studio needs VS Code ${MIN_VSCODE} or newer. Update VS Code, then reload the ` + `window.`;

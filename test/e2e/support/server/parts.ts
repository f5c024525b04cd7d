/** The parts of code-server that the tests need. */

/** Built-in extensions to leave out: chat, accounts, other languages' task runners. */
export const UNUSED_EXTENSIONS: readonly string[] = [
  'copilot',
  'mermaid-markdown-features',
  'microsoft-authentication',
  'github',
  'tunnel-forwarding',
  'debug-auto-launch',
  'debug-server-ready',
  'grunt',
  'gulp',
  'jake',
  'php-language-features',
  'terminal-suggest',
  'ms-vscode.js-debug-companion',
  'ms-vscode.vscode-js-profile-table',
];

/** Packages that the server, its hosts, and the page load. The rest is for chat, Windows, SSH, and telemetry. */
export const NEEDED_PACKAGES: readonly string[] = [
  '@microsoft/1ds-core-js',
  '@microsoft/1ds-post-js',
  '@parcel/watcher',
  '@vscode/deviceid',
  '@vscode/iconv-lite-umd',
  '@vscode/proxy-agent',
  '@xterm/addon-clipboard',
  '@xterm/addon-image',
  '@xterm/addon-ligatures',
  '@xterm/addon-progress',
  '@xterm/addon-search',
  '@xterm/addon-serialize',
  '@xterm/addon-unicode11',
  '@xterm/addon-webgl',
  '@xterm/headless',
  '@xterm/xterm',
  'cookie',
  'jschardet',
  'minimist',
  'node-pty',
  'tas-client',
  'vscode-oniguruma',
  'vscode-regexpp',
  'vscode-textmate',
  'ws',
  'yauzl',
  'yazl',
];

/** Files of those packages that no server reads, by their path below `node_modules`. */
export const UNUSED_FILES: readonly RegExp[] = [
  /\.(map|d\.[cm]?ts|md)$/,
  /^node-pty\/(third_party|src|deps)$/,
  /^@parcel\/watcher-linux-.*-musl$/,
];

/** The theme outside VS Code. Follows the color scheme and the contrast of the system. */

export type ThemeKind = 'vscode-dark' | 'vscode-light' | 'vscode-high-contrast' | 'vscode-high-contrast-light';

export function followSystemTheme(): void {
  const light = window.matchMedia('(prefers-color-scheme: light)');
  const contrast = window.matchMedia('(prefers-contrast: more)');
  const apply = (): void =>
    setTheme(
      contrast.matches
        ? light.matches
          ? 'vscode-high-contrast-light'
          : 'vscode-high-contrast'
        : light.matches
          ? 'vscode-light'
          : 'vscode-dark',
    );
  light.addEventListener('change', apply);
  contrast.addEventListener('change', apply);
  apply();
}

/** Sets the theme as VS Code does in a webview: styles depend on the attribute, and controls observe the class. */
export function setTheme(kind: ThemeKind): void {
  const { body } = document;
  body.dataset['vscodeThemeKind'] = kind;
  const classes = [...body.classList].filter((name) => !name.startsWith('vscode-'));
  body.className = [...classes, kind].join(' ');
}

/** Outside VS Code: the theme follows the system, light or dark, more contrast or not. */

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

/** As VS Code tells a webview: the styles read the attribute, the controls watch the class and then read the styles. */
export function setTheme(kind: ThemeKind): void {
  const { body } = document;
  body.dataset['vscodeThemeKind'] = kind;
  const classes = [...body.classList].filter((name) => !name.startsWith('vscode-'));
  body.className = [...classes, kind].join(' ');
}

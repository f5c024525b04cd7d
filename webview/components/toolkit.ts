/**
 * The elements of `@vscode/webview-ui-toolkit` that controls.tsx uses. A large part of the page that its first rows do
 * not need.
 */
import {
  provideVSCodeDesignSystem,
  vsCodeButton,
  vsCodeCheckbox,
  vsCodeDropdown,
  vsCodeOption,
  vsCodeTextField,
} from '@vscode/webview-ui-toolkit';

/** Defines the elements one by one in separate tasks, because each definition upgrades all its elements in the page. */
export async function defineElements(): Promise<void> {
  const system = provideVSCodeDesignSystem();
  // The toolkit starts to follow the editor's theme on `load`, which has already fired.
  if (document.readyState === 'complete') window.dispatchEvent(new Event('load'));
  for (const element of [vsCodeButton(), vsCodeTextField(), vsCodeOption(), vsCodeDropdown(), vsCodeCheckbox()]) {
    system.register(element);
    await new Promise((resolve) => setTimeout(resolve));
  }
}

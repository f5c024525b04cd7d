/**
 * The elements of `@vscode/webview-ui-toolkit` that controls.tsx uses: the page's heaviest part, and none that its
 * first rows need.
 */
import {
  provideVSCodeDesignSystem,
  vsCodeButton,
  vsCodeCheckbox,
  vsCodeDropdown,
  vsCodeOption,
  vsCodeTextField,
} from '@vscode/webview-ui-toolkit';

/** One kind after the other, each in a task of its own: all that stand in the page are made what they are at once. */
export async function defineElements(): Promise<void> {
  const system = provideVSCodeDesignSystem();
  // It begins to follow the editor's theme when the document is loaded: that is over by now.
  if (document.readyState === 'complete') window.dispatchEvent(new Event('load'));
  for (const element of [vsCodeButton(), vsCodeTextField(), vsCodeOption(), vsCodeDropdown(), vsCodeCheckbox()]) {
    system.register(element);
    await new Promise((resolve) => setTimeout(resolve));
  }
}

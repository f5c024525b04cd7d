/** Builds the VS Code part of package.json from tables. The build writes it; tests compare it. */
import { FILE_KINDS, fileGlob } from '../common/fileKinds.ts';
import { commands } from './contributions/commands.ts';
import { breakpoints, debuggers, grammars, languages } from './contributions/debuggers.ts';
import { keybindings } from './contributions/keybindings.ts';
import { menus } from './contributions/menus.ts';
import { DEBUG_TYPE, MCP_PROVIDER, PAGE_VIEW_TYPE, TRY_VIEW_TYPE, WORLD_VIEW_TYPE } from './contributions/names.ts';
import { configuration } from './contributions/settings.ts';
import { views, viewsContainers, viewsWelcome } from './contributions/views.ts';
import { walkthroughs } from './contributions/walkthrough.ts';
import { VSCODE_ENGINE } from './editorVersion.ts';

export const manifest: Readonly<Record<string, unknown>> = {
  publisher: 'rollout-studio',
  categories: ['Debuggers', 'Testing', 'Visualization', 'Machine Learning'],
  keywords: ['agent', 'rollout', 'trajectory', 'evaluation', 'tools'],
  icon: 'media/icons/icon.png',
  galleryBanner: { color: '#1e1e1e', theme: 'dark' },
  main: './dist/extension.mjs',
  engines: { vscode: VSCODE_ENGINE },
  // Runs in the workspace extension host, so that agents and tools run next to the files, also over SSH.
  extensionKind: ['workspace'],
  activationEvents: [
    ...FILE_KINDS.map((kind) => `workspaceContains:${fileGlob(kind)}`),
    // For an agent file that is opened without a folder.
    'onLanguage:yaml',
    `onWebviewPanel:${PAGE_VIEW_TYPE}`,
    `onWebviewPanel:${TRY_VIEW_TYPE}`,
    `onWebviewPanel:${WORLD_VIEW_TYPE}`,
    `onDebugResolve:${DEBUG_TYPE}`,
    'onUri',
  ],
  capabilities: {
    untrustedWorkspaces: {
      supported: 'limited',
      description: 'In Restricted Mode you can edit and check files. No server starts, and no agent or tool runs.',
      restrictedConfigurations: ['rollout.store', 'rollout.target'],
    },
    virtualWorkspaces: {
      supported: 'limited',
      description: 'You can edit agents, tools, and batches. Launching needs files on disk.',
    },
  },
  contributes: {
    commands,
    menus,
    keybindings,
    configuration,
    viewsContainers,
    views,
    viewsWelcome,
    walkthroughs,
    languages,
    grammars,
    breakpoints,
    debuggers,
    mcpServerDefinitionProviders: [{ id: MCP_PROVIDER, label: 'Rollout Studio' }],
  },
};

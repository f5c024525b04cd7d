/** A workbench that neither asks the network nor moves by itself: no chat, no tips, no look-ups, steady pictures. */
export const QUIET_SETTINGS: Readonly<Record<string, unknown>> = {
  'chat.disableAIFeatures': true, 'chat.commandCenter.enabled': false,
  'workbench.colorTheme': 'Dark Modern',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.startupEditor': 'none', 'workbench.tips.enabled': false,
  'workbench.welcomePage.walkthroughs.openOnInstall': false, 'workbench.enableExperiments': false,
  'workbench.settings.enableNaturalLanguageSearch': false,
  'telemetry.telemetryLevel': 'off', 'update.mode': 'none', 'update.showReleaseNotes': false,
  'extensions.autoCheckUpdates': false, 'extensions.autoUpdate': false, 'extensions.ignoreRecommendations': true,
  'npm.fetchOnlinePackageInfo': false, 'json.schemaDownload.enable': false,
  'workbench.reduceMotion': 'on', 'editor.minimap.enabled': false, 'editor.cursorBlinking': 'solid', 'editor.smoothScrolling': false,
  // A late change of focus must not close the palette under a test, and Quick Open goes to an editor that is open.
  'workbench.quickOpen.closeOnFocusLost': false, 'workbench.editor.revealIfOpen': true,
  'debug.internalConsoleOptions': 'neverOpen',
  // The browser build saves after a delay by default.
  'files.autoSave': 'off', 'files.simpleDialog.enable': true,
  'git.openRepositoryInParentFolders': 'never', 'remote.autoForwardPorts': false,
};

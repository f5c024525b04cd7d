/**
 * Returns where Chromium, Chrome, or Edge may be, best candidate first: CHROME_PATH, the PATH, install locations, and
 * Playwright downloads. `list` returns the names in a folder, or none if it does not exist.
 */
export function chromiumPlaces(
  platform: string,
  env: Readonly<Record<string, string | undefined>>,
  list: (folder: string) => readonly string[],
): string[] {
  const windows = platform === 'win32';
  const configured = env['CHROME_PATH'];
  const programs = [
    'chromium',
    'chromium-browser',
    'google-chrome',
    'google-chrome-stable',
    'chrome',
    'microsoft-edge',
    'msedge',
  ];
  const folders = (env['PATH'] ?? env['Path'] ?? '').split(windows ? ';' : ':').filter((folder) => folder !== '');
  const onPath = folders.flatMap((folder) => programs.map((name) => `${folder}/${name}${windows ? '.exe' : ''}`));
  const home = env['HOME'] ?? env['USERPROFILE'] ?? '';
  const installed = windows
    ? [env['PROGRAMFILES'], env['PROGRAMFILES(X86)'], env['LOCALAPPDATA']].flatMap((base) =>
        base === undefined
          ? []
          : [
              `${base}/Google/Chrome/Application/chrome.exe`,
              `${base}/Chromium/Application/chrome.exe`,
              `${base}/Microsoft/Edge/Application/msedge.exe`,
            ],
      )
    : platform !== 'darwin'
      ? []
      : ['Google Chrome', 'Chromium', 'Microsoft Edge'].flatMap((name) =>
          ['', home].map((base) => `${base}/Applications/${name}.app/Contents/MacOS/${name}`),
        );
  const cache =
    env['PLAYWRIGHT_BROWSERS_PATH'] ??
    (windows
      ? `${env['LOCALAPPDATA'] ?? ''}/ms-playwright`
      : platform === 'darwin'
        ? `${home}/Library/Caches/ms-playwright`
        : `${home}/.cache/ms-playwright`);
  const inside = windows
    ? ['chrome-win/chrome.exe', 'chrome-win64/chrome.exe']
    : platform === 'darwin'
      ? [
          'chrome-mac/Chromium.app/Contents/MacOS/Chromium',
          'chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing',
          'chrome-mac-x64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing',
        ]
      : ['chrome-linux/chrome', 'chrome-linux64/chrome'];
  const downloaded = list(cache)
    .filter((name) => /^chromium-\d+$/.test(name))
    .toSorted((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .flatMap((name) => inside.map((file) => `${cache}/${name}/${file}`));
  return [...(configured === undefined ? [] : [configured]), ...onPath, ...installed, ...downloaded];
}

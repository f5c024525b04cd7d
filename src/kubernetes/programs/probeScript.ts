/**
 * The script of a pod that tries the way to the server as workers go it: `node --eval SCRIPT CA SECONDS URLS`. `CA`: a
 * folder with certificates of the authority; `URLS`: separated by commas.
 */

/** Tries each URL in turn until one answers, or the time is over: then its only output says why. */
export const PROBE_SCRIPT = `
const { readFileSync, readdirSync } = require('node:fs');
const tls = require('node:tls');
const [folder, seconds, urls] = process.argv.slice(1);
const files = readdirSync(folder).filter((name) => name.endsWith('.crt'));
const ca = [...tls.rootCertificates, ...files.map((name) => readFileSync(folder + '/' + name, 'utf8'))];
const get = (url) => new Promise((resolve, reject) => {
  const { get } = require(url.startsWith('https:') ? 'node:https' : 'node:http');
  const request = get(url + '/readyz', { ca, timeout: 5000 }, (response) => {
    response.resume();
    if (response.statusCode === 200) resolve();
    else reject(new Error('it returned ' + response.statusCode));
  });
  request.on('timeout', () => request.destroy(new Error('no response within 5 s')));
  request.on('error', reject);
});
const end = Date.now() + Number(seconds) * 1000;
(async () => {
  for (let pause = 250, tried = 0; ; tried++) {
    const all = urls.split(',');
    try {
      await get(all[tried % all.length].replace(/\\/+$/, ''));
      return;
    } catch (error) {
      if (Date.now() > end) {
        process.stderr.write(error.code === undefined ? error.message : error.message + ' (' + error.code + ')');
        process.exit(1);
      }
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
    pause = Math.min(2000, pause * 2);
  }
})();
`;

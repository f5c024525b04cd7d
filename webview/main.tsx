/** Where a page begins that is saved as a file: all its parts and all its data are in it. */
import { fileHost } from './host/file.ts';
import { showPage } from './show.tsx';
import { followSystemTheme } from './theme/browserTheme.ts';
import './theme/page.css';

followSystemTheme();
void showPage(fileHost());

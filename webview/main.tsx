/** Entry of a page that is saved as a file: it contains all its code and data. */
import { fileHost } from './host/file.ts';
import { showPage } from './show.tsx';
import { followSystemTheme } from './theme/browserTheme.ts';
import './theme/page.css';

followSystemTheme();
void showPage(fileHost());

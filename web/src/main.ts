import 'uplot/dist/uPlot.min.css';
import './style.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { start } from './page.svelte.ts';

const target = document.getElementById('page');
if (target === null) throw new Error('index.html has an element with the id "page"');
mount(App, { target });
void start();

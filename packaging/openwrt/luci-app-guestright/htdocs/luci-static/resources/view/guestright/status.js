'use strict';
'require view';
'require fs';
'require poll';
'require uci';
'require dom';

/*
 * What the home and the access point do. Nothing is changed from here.
 *
 * Everything shown is text: LuCI takes a bare string for HTML, and a string in an array for text. So each child here is an
 * array, and only text() and element() make any. What is shown comes from visitors and other homes.
 */

var PROGRAM = '/usr/bin/guestright';
var SETTINGS = '/etc/config/guestright';

function text(value) {
	return [ (value === null || value === undefined) ? '' : String(value) ];
}

function element(tag, attributes, children) {
	return E(tag, attributes, Array.isArray(children) ? children : text(children));
}

function bytes(count) {
	var units = [ 'B', 'kB', 'MB', 'GB', 'TB' ];
	var value = Number(count), unit = 0;

	if (!isFinite(value))
		return '';

	while (value >= 1000 && unit < units.length - 1) {
		value /= 1000;
		unit++;
	}

	return (unit ? value.toFixed(1) : value) + ' ' + units[unit];
}

function list(value) {
	return Array.isArray(value) ? value : [];
}

function short(team) {
	return String(team || '').substring(0, 8);
}

function table(head, rows, empty) {
	if (!rows.length)
		return element('p', {}, [ element('em', {}, empty) ]);

	return element('table', { 'class': 'table' }, [
		element('tr', { 'class': 'tr table-titles' }, head.map(function(name) {
			return element('th', { 'class': 'th' }, name);
		}))
	].concat(rows.map(function(row) {
		return element('tr', { 'class': 'tr' }, row.map(function(cell, index) {
			return element('td', { 'class': 'td', 'data-title': head[index] }, cell);
		}));
	})));
}

/* Either { status } or { sentence }, which says why there is none. */
function ask(role) {
	if (uci.get('guestright', role, 'enabled') !== '1')
		return Promise.resolve({ sentence: _('Not enabled.') });

	return fs.exec(PROGRAM, [ role, 'status', '--json', '--uci', SETTINGS ]).then(function(result) {
		if (result.code !== 0)
			return { sentence: (result.stderr || '').trim() || _('It does not answer.') };

		try {
			return { status: JSON.parse(result.stdout) };
		}
		catch (error) {
			return { sentence: _('Its answer cannot be read.') };
		}
	}).catch(function(error) {
		return { sentence: error.message };
	});
}

function accessPoint(answer) {
	var status = answer.status;

	if (!status)
		return [ element('p', {}, answer.sentence) ];

	var home = status.home_up ? _('connected') : _('not reachable');
	if (!status.home_up && status.home_reason)
		home += ': ' + status.home_reason;

	var page = [
		table([ _('Team'), _('Home'), _('Receipts on their way') ],
			[ [ short(status.team), home, status.undelivered ] ], '')
	];

	if (status.trouble)
		page.push(element('p', { 'class': 'alert-message warning' }, status.trouble));

	page.push(table(
		[ _('Guest'), _('Team'), _('Class'), _('Carried'), _('Signed for'), _('State') ],
		list(status.sessions).map(function(session) {
			return [
				session.ip, short(session.team), session.class, bytes(session.counted), bytes(session.signed),
				session.open ? _('open') : _('held back')
			];
		}),
		_('Nobody is served now.')
	));

	return page;
}

function teamHome(answer) {
	var status = answer.status;

	if (!status)
		return [ element('p', {}, answer.sentence) ];

	return [
		table([ _('Team'), _('Receipts'), _('Teams'), _('Others owe us'), _('We owe others') ],
			[ [ short(status.team), status.receipts, status.teams, bytes(status.owed_to_us), bytes(status.owed_by_us) ] ], '')
	];
}

function sections(answers) {
	return [
		element('h3', {}, _('Access point')),
		element('div', {}, accessPoint(answers[0])),
		element('h3', {}, _('Home')),
		element('div', {}, teamHome(answers[1]))
	];
}

function askBoth() {
	return Promise.all([ ask('ap'), ask('home') ]);
}

return view.extend({
	load: function() {
		return uci.load('guestright').then(askBoth);
	},

	render: function(answers) {
		var status = element('div', {}, sections(answers));

		poll.add(function() {
			return askBoth().then(function(fresh) {
				dom.content(status, sections(fresh));
			});
		}, 10);

		return element('div', {}, [
			element('h2', {}, _('guestright')),
			element('p', {}, _('Guests sign receipts for what they use; from receipts the home knows who owes whom.')),
			status,
			element('p', {}, [
				element('a', { 'href': L.url('admin/network/firewall') }, _('Firewall')), ' · ',
				element('a', { 'href': L.url('admin/network/wireless') }, _('Wireless')), ' · ',
				element('a', { 'href': L.url('admin/status/logs') }, _('System log'))
			]),
			element('p', {}, [
				_('Settings are in %s; `guestright home accounts --uci %s` on the command line says who owes whom.')
					.format(SETTINGS, SETTINGS)
			])
		]);
	},

	handleSaveApply: null,
	handleSave: null,
	handleReset: null
});

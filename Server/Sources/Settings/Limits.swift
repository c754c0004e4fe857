/// Every time, count and size of the server, in one place. No other part of the code has a number of its own.
/// Exceptions are the parts below this module (`VerificationLimits`, `PasswordLimits`) and the lengths from standards.
///
/// The reference for operators is generated from these comments (`scripts/configuration`). The comment of a settable
/// limit says what happens past the limit.
public struct Limits: Sendable, Equatable {
    // MARK: Ceremonies

    /// The time for redeeming a QR code, a link or a typed code. The waiting page renews the code. Past it the phone
    /// gets 410 `token-expired`.
    public var dispatchLifetime: Duration = .seconds(60)
    /// The messages to devices that one node has under way at once for each dispatcher. The others wait.
    public var deviceMessagesAtOncePerDispatcher = 8
    /// The time for a node to deliver a message to a device after taking it. Past it the call of the dispatcher counts
    /// as failed, and the message is tried again.
    public var deviceMessageLease: Duration = .seconds(15)
    /// The interval between two searches of a node for due messages to devices. A node also searches after each
    /// delivery.
    public var deviceMessageInterval: Duration = .milliseconds(250)
    /// The first pause of a message to a device after a failed delivery. Each further pause is twice as long.
    public var deviceMessageRetryPause: Duration = .seconds(2)
    /// The longest pause of a message to a device after a failed delivery.
    public var longestDeviceMessageRetryPause: Duration = .seconds(15)
    /// The time for the phone's answer after a ceremony was claimed. Past it the answer is refused (1491), and the page
    /// says that the time is over.
    public var claimedLifetime: Duration = .seconds(180)
    /// The longest time from the beginning of a ceremony until a phone claims the ceremony, with every renewal of its
    /// code. A claimed ceremony can last ``claimedLifetime`` longer, and then ``confirmationLifetime`` or
    /// ``continuationLifetime``.
    public var ceremonyLifetime: Duration = .seconds(15 * 60)
    /// The time for redeeming an operator's enrolment link, and for using the code of an offer. Neither is renewed. Past
    /// it the phone gets 410 `token-expired` for a link, and the operator makes another link.
    public var activationLifetime: Duration = .seconds(15 * 60)
    /// The time for confirming an enrolment by the number on the phone. Past it the enrolment ends, and its keys are
    /// deleted.
    public var confirmationLifetime: Duration = .seconds(10 * 60)
    /// The time for redeeming the code by which a person's phone has a new phone enrolled. Past it the phone gets 410
    /// `token-expired`, and the person has another code shown.
    public var deviceApprovalLifetime: Duration = .seconds(10 * 60)
    /// The time in which a device that another device approved approves, removes and recovers nothing: the person's other
    /// ways are told, and somebody must have the time to read. Past it the device may do what every device may do.
    public var approvedDeviceLimit: Duration = .seconds(24 * 60 * 60)
    /// The time for the starting browser to continue a sign-in after a phone on the same device has approved the
    /// sign-in. Past it the sign-in has ended, and the page offers to begin anew.
    public var continuationLifetime: Duration = .seconds(60)
    /// The time for the browser to complete an approved sign-in. Past it the person is not signed in, and the page
    /// offers to begin anew.
    public var outcomeLifetime: Duration = .seconds(60)
    /// The time for reading the record of an ended ceremony. Past it the session is `unknown`.
    public var endedRetention: Duration = .seconds(10 * 60)
    /// The interval between two searches for ended and expired records.
    public var sweepInterval: Duration = .seconds(15)
    /// The number of records to end or delete in one sweep step.
    public var sweepBatch = 500
    /// The digits of the number that confirms an enrolment.
    public var confirmationDigits = 6
    /// The letters of the typed code. Each letter carries five bits.
    public var typedCodeLetters = 10
    /// The characters of a transaction's text. Past it the dispatch is refused (400).
    public var transactionCharacters = 200
    /// The bytes of a transaction's picture. In base64url, a picture of this size fits into a message to a phone. Past
    /// it the dispatch is refused (400).
    public var pictureBytes = 24 * 1024
    /// The pixels of either side of a transaction's picture. Past it the dispatch is refused (400).
    public var picturePixels = 2048
    /// The watchers of each ceremony at a time (waiting pages, back ends). Past it the events of the oldest watcher
    /// end.
    public var watchersPerCeremony = 8

    // MARK: Public challenges

    /// The time for answering a public challenge. Any device may request a public challenge. Past it the answer is
    /// refused (1491).
    public var challengeLifetime: Duration = .seconds(180)
    /// The requests of each source for public challenges at once. The phones of a carrier may be a single source. Past
    /// it: 429.
    public var challengeBurst = 3000
    /// The requests of each source for public challenges each minute after the burst: about two hundredths of a core.
    /// Past it: 429.
    public var challengesPerMinute = 6000
    /// The refused answers told to each source at once. The phones of a company are a single source, and right answers
    /// are not counted. Past it a refusal is told as 429; a right answer is taken.
    public var refusalBurst = 300
    /// The refused answers told to each source each minute after the burst. Past it a refusal is told as 429.
    public var refusalsPerMinute = 300
    /// The number of separately counted sources. The least recent source is forgotten first.
    public var countedSources = 10_000

    // MARK: Strangers in front of the sign-in page

    /// The sign-ins begun by the browsers of each source at once. Sign-ins by a session count too. An office is a
    /// single source. Past it: 429, as a page.
    public var signInBurst = 300
    /// The sign-ins begun by the browsers of each source each minute after the burst. Past it: 429, as a page.
    public var signInsPerMinute = 300
    /// The sets of codes shown by the pages of each source at once. A waiting page shows one set a minute. Past it:
    /// 429, as a page.
    public var codeBurst = 600
    /// The sets of codes shown by the pages of each source each minute after the burst. Past it: 429, as a page.
    public var codesPerMinute = 600
    /// The wrong typed codes, tokens and secrets from each source at once. Past it a wrong value is told as 429; a
    /// right value is taken.
    public var guessBurst = 60
    /// The wrong typed codes, tokens and secrets from each source each minute after the burst. Past it a wrong value is
    /// told as 429.
    public var guessesPerMinute = 60
    /// The number of accounts that must have a kind of device before a proposal for invented accounts names this kind.
    public var proposalAccounts = 50
    /// The time for recognising a code after a page has replaced the code. Afterwards the code is like a code that
    /// never existed.
    public var replacedCodeRetention: Duration = .seconds(5 * 60)

    // MARK: Dispatches of clients

    /// The dispatches of each client to named people at once. Past it: 429, and the log names client and setting.
    public var dispatchBurst = 3000
    /// The dispatches of each client to named people each minute after the burst. Past it: 429, and the log names
    /// client and setting.
    public var dispatchesPerMinute = 6000
    /// The dispatches of each client without a subject at once. Past it: 429, and the log names client and setting.
    public var openDispatchBurst = 600
    /// The dispatches of each client without a subject each minute after the burst. Past it: 429, and the log names
    /// client and setting.
    public var openDispatchesPerMinute = 600
    /// The dispatches of each client to one person at once. Past it: 429, and the log names client and setting.
    public var personDispatchBurst = 30
    /// The dispatches of each client to one person each minute after the burst. Past it: 429, and the log names client
    /// and setting.
    public var personDispatchesPerMinute = 10
    /// The number of separately counted persons of each client. The least recent person is forgotten first. A client
    /// cannot name this many persons before a person's budget has come back. So a client cannot make the server forget
    /// a person.
    public var countedPersons = 25_000

    // MARK: Enrolment over spent keys

    /// The secrets of earlier enrolments shown in one enrolment. Past it: 1400.
    public var shownDeviceSecrets = 8
    /// The keys replaced by one enrolment. Past it: 1400.
    public var replacedKeys = 16

    // MARK: Deregistration

    /// The keys named by one deregistration. Past it: 1400.
    public var deregisteredKeys = 64
    /// The bytes of the names of keys in the message that makes a phone delete the keys. The size holds several hundred
    /// names, and a phone can read a message of this size.
    public var deregistrationBytes = 48 * 1024
    /// The time for a phone to request the answer to a deregistration again after the answer was lost. The phone
    /// repeats a dispatched deregistration, or asks as the device itself.
    public var deregistrationRetention: Duration = .seconds(30 * 24 * 60 * 60)

    // MARK: Tokens and sessions

    /// The time for exchanging an authorization code. Past it: `invalid_grant`.
    public var authorizationCodeLifetime: Duration = .seconds(60)
    /// The time for a person to complete a sign-in page. Past it the page says that the sign-in does not exist any
    /// more; the service sends the browser again.
    public var authorizationRequestLifetime: Duration = .seconds(15 * 60)
    /// The life of an access token and of an ID token. Past it an access token is refused (401).
    public var accessTokenLifetime: Duration = .seconds(5 * 60)
    /// The life of a browser's session at the server. Past it the server asks for the phone again.
    public var sessionLifetime: Duration = .seconds(12 * 60 * 60)
    /// The life of a phone's token from an in-app authentication. Past it: 401.
    public var deviceTokenLifetime: Duration = .seconds(5 * 60)
    /// The life of a signed transaction result.
    public var resultLifetime: Duration = .seconds(5 * 60)
    /// The limits of the OpenID provider alone.
    public var oauth = OAuth()
    /// The limits of password accounts alone.
    public var passwords = PasswordAccounts()
    /// The limits of mail to people.
    public var mail = Mail()
    /// The limits of push messages.
    public var push = Push()
    /// The life of the cookie by which the server recognises a browser.
    public var browserCookieLifetime: Duration = .seconds(400 * 24 * 60 * 60)

    // MARK: What a person's own phone sees

    /// The number of notices, sessions, lasting grants, consents, changes and waiting questions, of each kind, that a
    /// person's phone or page shows. The newest are shown.
    public var activityRows = 50
    /// The number of waiting operations that a device's list and a device's stream show. The newest are shown. A list of
    /// sealed operations fits into one event.
    public var operationsPerDevice = 24
    /// The time for which a notice can be read. An older notice is deleted.
    public var noticeRetention: Duration = .seconds(90 * 24 * 60 * 60)
    /// The services shown on a phone for one session.
    public var servicesPerSession = 5

    // MARK: Personalised identities

    /// The requests of each device with a proof by its key at once. No app sends so many. The limit bounds an app in a
    /// loop, and a stolen key. Past it: 429, before the server asks the database for anything more.
    public var provenRequestBurst = 3_000
    /// The requests of each device with a proof by its key each minute after the burst: about a hundredth of a core.
    /// Past it: 429.
    public var provenRequestsPerMinute = 600
    /// The changes of each device's dispatch target at once: its name, its dispatcher and its push address. An app states
    /// them at its start. Each change leaves an audit entry. Past it: 429.
    public var targetChangeBurst = 20
    /// The changes of each device's dispatch target each minute after the burst. Past it: 429.
    public var targetChangesPerMinute = 2
    /// The approvals of new devices that each device begins at once. A person has few phones. Each approval leaves an audit
    /// entry. Past it: 429.
    public var deviceApprovalBurst = 10
    /// The approvals of new devices that each device begins each minute after the burst. Past it: 429.
    public var deviceApprovalsPerMinute = 1
    /// The time for claiming a session after an app has opened the session for itself.
    public var inAppLifetime: Duration = .seconds(5 * 60)
    /// The time for claiming a session after the session was pushed to a person's devices, and the whole time of a sign-in
    /// whose person was named at the page: the phone answers in this time, and then the page says that the time is over.
    public var pushLifetime: Duration = .seconds(180)
    /// The time for an app to use a grant: for another PIN, a further factor or device, or the deletion of the account.
    public var grantLifetime: Duration = .seconds(5 * 60)
    /// The wrong answers of a person about attributes in one session. One more wrong answer ends the session.
    public var correctionsPerSession = 3
    /// The new PINs refused by one grant. The last refusal ends the grant.
    public var pinsPerGrant = 3
    /// The pause of an activation after a first failed attempt. Past it the next attempt is judged. If this attempt
    /// fails too, the activation pauses for the first of ``lockoutSeconds``. The pause does not change the number of
    /// attempts.
    public var firstLockout: Duration = .seconds(5)
    /// The pauses of an activation after more failed attempts in a row, in seconds: after the second, the third and so
    /// on. The last pause counts for all later attempts.
    public var lockoutSeconds = [15, 60, 300, 1_800, 7_200, 43_200, 86_400]
    /// The number of failed attempts in a row that disables an activation for good.
    public var lockoutFailuresInARow = 10
    /// The number of failed attempts within ``lockoutWindow`` that disables an activation for good. Right attempts in
    /// between do not change the count.
    public var lockoutFailuresInWindow = 100
    /// The time for which a failed attempt counts.
    public var lockoutWindow: Duration = .seconds(30 * 24 * 60 * 60)
    /// The values of one attribute in an account. Past it no further value is taken.
    public var valuesPerAttribute = 8
    /// The addresses of an account beside the first address. Past it no further address is taken.
    public var emailsPerAccount = 8
    /// The waiting codes for further devices of an account. Only codes that the person has made on a page count. Past
    /// it the page asks the person to take a code back first.
    public var openOffersPerAccount = 4
    /// The time after signing in for a person to end or rename parts of the account on a page. The same time after the
    /// phone's confirmation is the time for making a change. Past it the page asks the person to sign in, or to
    /// confirm, once more.
    public var freshSignIn: Duration = .seconds(10 * 60)
    /// The time for a person to report a change of their account as somebody else's, and afterwards the time for taking
    /// the report back. Past it the page refuses the question, and a reported addition is deleted for good.
    public var changeQuestionLifetime: Duration = .seconds(7 * 24 * 60 * 60)
    /// The wait of a change after another provider has confirmed the change, for an account without phone and password.
    /// The change can be made from then on, until ``changeQuestionLifetime`` has passed.
    public var providerConfirmationWait: Duration = .seconds(24 * 60 * 60)
    /// The time for which an account's history keeps a session of the account's identity. Past it the session is
    /// forgotten.
    public var identityHistoryRetention: Duration = .seconds(396 * 24 * 60 * 60)
    /// The sessions in an account's history: ten a day for the whole retention time. Past it the oldest session is
    /// forgotten, however young it is.
    public var identityHistoryRows = 4_000
    /// The time for keeping a person's agreements, with the signatures: a year, and a month to ask about its last day.
    public var identityConsentRetention: Duration = .seconds(396 * 24 * 60 * 60)
    /// The kept agreements of an account. Past it the oldest agreement is forgotten, however young it is.
    public var identityConsentRows = 400
    /// The time for keeping the receipts of confirmed transactions: a year, and a month to ask about its last day.
    public var receiptRetention: Duration = .seconds(396 * 24 * 60 * 60)
    /// The kept receipts of an account. Past it the oldest receipt is forgotten, however young it is.
    public var receiptRows = 4_000
    /// The receipts that a phone gets at once, the newest first.
    public var listedReceipts = 50
    /// The organisations of a server.
    public var organisations = 1_000
    /// The number of open invitations at a time.
    public var openInvites = 10_000
    /// The time for accepting an invitation.
    public var inviteLifetime: Duration = .seconds(14 * 24 * 60 * 60)
    /// The time for keeping the outcome of an invitation after the invitation's end.
    public var inviteRetention: Duration = .seconds(90 * 24 * 60 * 60)

    // MARK: Administration

    /// The life of the one-time link for the first administrator. Past it the next start makes another link.
    public var administratorLinkLifetime: Duration = .seconds(15 * 60)
    /// The longest life of an administrator's token. Past it: 401.
    public var administratorTokenLifetime: Duration = .seconds(365 * 24 * 60 * 60)
    /// The rows of one page of a list.
    public var pageSize = 100
    /// The characters of a user name.
    public var usernameCharacters = 128
    /// The characters of a display name, a device's name and a client's name.
    public var nameCharacters = 128

    // MARK: Messages

    /// The bytes of a JSON body. Past it: 413.
    public var bodyBytes = 64 * 1024
    /// The bytes of a UAF response. Past it: 413.
    public var uafResponseBytes = 16 * 1024
    /// The bytes of a request's header block. Past it the connection is closed.
    public var headerBytes = 16 * 1024
    /// The time for the whole body of a request to arrive, from the end of its head. Past it: 408, and the connection
    /// is closed.
    public var requestDeadline: Duration = .seconds(30)
    /// The longest time of a connection without a whole request head: after its opening, and after each answer. Then
    /// the connection is closed.
    public var connectionIdleTime: Duration = .seconds(75)

    /// The time in which at least ``answerBytes`` of a client's unread answers must leave. Past it the connection is
    /// cut.
    public var answerPeriod: Duration = .seconds(30)
    /// The bytes of its answers that a client must read in each ``answerPeriod`` with unread answers. Below it the
    /// connection is cut.
    public var answerBytes = 4 * 1024
    /// The interval between two checks of the connections with unsent data. The connection that has moved the least
    /// gives way first.
    public var answerLook: Duration = .seconds(1)
    /// The bytes of a connection's answers that the system may keep. The bound limits the cost of a connection whose
    /// client does not read. The bound also lets the server notice a slow reader in time.
    public var sendBufferBytes = 64 * 1024
    /// The time for a client to acknowledge sent data.
    public var acknowledgementTime: Duration = .seconds(75)
    /// The time for the other end to close a connection after the server has closed its side.
    public var lingerTime: Duration = .seconds(2)
    /// The time for the whole stop of the server, from the signal to the end of the process. The service manager kills
    /// the server after 30 seconds. Past it the process ends at once, the log names the part that still went on, and
    /// all acknowledged data is on disk.
    public var stopTime: Duration = .seconds(25)
    /// The time for answering requests under way when the server is told to stop. All requests together have the rest
    /// of ``stopTime``, less ``Fixed/stopReserve``, if this rest is shorter. Past that time the connection is cut.
    public var drainTime: Duration = .seconds(20)
    /// The time for answering requests under way at the listeners of operators when the server is told to stop.
    public var operatorDrainTime: Duration = .seconds(2)
    /// The longest silence of a channel for events. Then the server sends a heartbeat.
    public var heartbeat: Duration = .seconds(15)

    // MARK: Connections

    /// The connections of each source at a time. By default a quarter of all connections. Past it the source loses its
    /// own connection with the longest wait.
    public var connectionsPerSource = 2_500
    /// The channels for events of each source at a time, through any number of proxies. By default as many as
    /// connections. Past it the source loses its oldest channel, and the page of this channel asks again.
    public var channelsPerSource = 2_500
    /// The streams of each device at a time: an app and its extension. Past it the device's oldest stream is told that
    /// another stream has taken its place.
    public var streamsPerDevice = 2
    /// The streams of all devices of an account at a time. Past it the account's oldest stream is told that another
    /// stream has taken its place.
    public var deviceStreamsPerAccount = 8
    /// The streams of all devices at a time: by default half of all connections, so that browsers and back ends keep the
    /// other half. Past it the account with the most streams loses its oldest stream.
    public var deviceStreams = 5_000
    /// The time after which a stream of a device ends, and the device has to prove itself anew.
    public var deviceStreamLifetime: Duration = .seconds(60 * 60)
    /// The longest random time by which a stream of a device lasts longer, so that streams that began together do not
    /// end together.
    public var deviceStreamSpread: Duration = .seconds(10 * 60)
    /// The number of sources that could each have a whole share of all connections.
    public var sharesOfConnections = 4
    /// The smallest share of connections for a source. A browser opens six connections, and a phone its own.
    public var smallestShare = 8
    /// The shortest time between two log entries about a reached bound, for bounds that any outsider can reach.
    public var pauseOfReports: Duration = .seconds(60)

    // MARK: Store

    /// The steps that may wait for the writer. Past it the store is unavailable (503).
    public var waitingSteps = 4096
    /// The steps in one commit.
    public var stepsPerCommit = 256
    /// The written tokens of dispatch and refresh that a process remembers, 16 bytes each or a little more. A
    /// remembered token goes to the writer at once. Any other token is first looked up by a reader.
    public var handedOutTokens = 32_768
    /// The number of reading threads, each with a connection.
    public var readers = 2
    /// The memory for pages of each connection, in KiB. Memory is taken when needed.
    public var cacheKibibytes = 16 * 1024
    /// The pages of the write-ahead log before they go into the database's file, 4 KiB each. A page that is written
    /// again in the meantime goes into the file once. After a crash the start reads up to this many pages.
    public var logPages = 8000
    /// The wait of the store for a foreign lock on its file.
    public var busyTimeout: Duration = .seconds(2)

    /// The defaults.
    public init() {}

    /// The defaults of a server that can have this many connections at a time.
    public init(connections: Int) {
        self.init()
        let share = min(connections, max(self.smallestShare, connections / self.sharesOfConnections))
        self.connectionsPerSource = share
        self.channelsPerSource = share
        self.deviceStreams = max(1, connections / 2)
    }
}

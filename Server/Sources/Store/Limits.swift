/// Every time, count and size of the server, in one place. Nothing else has a number of its own, but for what stands
/// below this (`VerificationLimits`) and the lengths that standards give.
///
/// The reference for operators is made of these comments (`scripts/configuration`). Of what an operator can set, the
/// comment says what happens past it.
public struct Limits: Sendable, Equatable {
    // MARK: Ceremonies

    /// How long a QR code, a link or a typed code can be redeemed. The waiting page renews it. Past it the phone is
    /// told that its time is over (410 `token-expired`).
    public var dispatchLifetime: Duration = .seconds(60)
    /// How long a claimed ceremony waits for the phone's answer. Past it the answer is refused (1491), and the page
    /// says that the time is over.
    public var claimedLifetime: Duration = .seconds(180)
    /// How long a ceremony can live in all, with every renewal.
    public var ceremonyLifetime: Duration = .seconds(15 * 60)
    /// How long an activation link from an operator can be redeemed. Nobody renews it. Past it the phone is told 410
    /// `token-expired`, and the operator makes another.
    public var activationLifetime: Duration = .seconds(15 * 60)
    /// How long an enrolment waits for the number that the phone shows. Past it the enrolment ends, and its keys are
    /// deleted.
    public var confirmationLifetime: Duration = .seconds(10 * 60)
    /// How long the starting browser can take up a sign-in that its own device has approved. Past it the sign-in has
    /// ended, and the page offers to begin anew.
    public var continuationLifetime: Duration = .seconds(60)
    /// How long an approved sign-in waits for the browser to complete it. Past it nobody is signed in, and the page
    /// offers to begin anew.
    public var outcomeLifetime: Duration = .seconds(60)
    /// How long a ceremony's record can be asked for after its end. Past it the session is `unknown`.
    public var endedRetention: Duration = .seconds(10 * 60)
    /// How often ended and expired records are looked for.
    public var sweepInterval: Duration = .seconds(15)
    /// How many records one sweep step ends or deletes.
    public var sweepBatch = 500
    /// Digits of the number that confirms an enrolment.
    public var confirmationDigits = 6
    /// Letters of the typed code; each carries five bits.
    public var typedCodeLetters = 10
    /// Characters of a transaction's text. Past it the dispatch is refused (400).
    public var transactionCharacters = 200
    /// Bytes of a transaction's picture: in base64url it fits a message to a phone. Past it the dispatch is refused (400).
    public var pictureBytes = 24 * 1024
    /// Pixels of either side of a transaction's picture. Past it the dispatch is refused (400).
    public var picturePixels = 2048
    /// Watchers of one ceremony at a time (waiting pages, back ends). Past it the oldest one's events end.
    public var watchersPerCeremony = 8

    // MARK: Public challenges

    /// How long a challenge that anybody may ask for can be answered. Past it the answer is refused (1491).
    public var challengeLifetime: Duration = .seconds(180)
    /// Public challenges that one source can ask for at once. The phones of a carrier may be one source. Past it: 429.
    public var challengeBurst = 3000
    /// Public challenges that it can ask for each minute after that: about two hundredths of a core. Past it: 429.
    public var challengesPerMinute = 6000
    /// Refused answers that one source is told of at once. The phones of a company are one source, and right answers
    /// are not counted. Past it a refusal is told as 429; a right answer is taken.
    public var refusalBurst = 300
    /// Refused answers that it is told of each minute after that. Past it a refusal is told as 429.
    public var refusalsPerMinute = 300
    /// Sources that are counted one by one; the least recent is forgotten first.
    public var countedSources = 10_000

    // MARK: Strangers in front of the sign-in page

    /// Sign-ins that the browsers of one source can begin at once, those by a session among them. An office is one
    /// source. Past it: 429, as a page.
    public var signInBurst = 300
    /// Sign-ins that they can begin each minute after that. Past it: 429, as a page.
    public var signInsPerMinute = 300
    /// Sets of codes that the pages of one source can show at once; a waiting page shows one a minute. Past it: 429, as
    /// a page.
    public var codeBurst = 600
    /// Sets of codes that they can show each minute after that. Past it: 429, as a page.
    public var codesPerMinute = 600
    /// Wrong typed codes, tokens and secrets that one source can send at once. Past it a wrong one is told as 429; a
    /// right one is taken.
    public var guessBurst = 60
    /// Wrong ones that it can send each minute after that. Past it a wrong one is told as 429.
    public var guessesPerMinute = 60
    /// Accounts that must have a kind of device before a proposal for invented accounts names it.
    public var proposalAccounts = 50
    /// How long codes that a page has replaced are told from codes that never were.
    public var replacedCodeRetention: Duration = .seconds(5 * 60)

    // MARK: Dispatches of clients

    /// Dispatches to people whom it names that one client can send at once. Past it: 429, and the log names client and
    /// setting.
    public var dispatchBurst = 3000
    /// Dispatches that it can send each minute after that. Past it: 429, and the log names client and setting.
    public var dispatchesPerMinute = 6000
    /// Dispatches without a subject that one client can send at once. Past it: 429, and the log names client and
    /// setting.
    public var openDispatchBurst = 600
    /// Dispatches without a subject that it can send each minute after that. Past it: 429, and the log names client and
    /// setting.
    public var openDispatchesPerMinute = 600
    /// Dispatches to one person that one client can send at once. Past it: 429, and the log names client and setting.
    public var personDispatchBurst = 30
    /// Dispatches that it can send to this person each minute after that. Past it: 429, and the log names client and
    /// setting.
    public var personDispatchesPerMinute = 10
    /// Persons of one client that are counted one by one; the least recent is forgotten first. More than a client can
    /// name in the time in which a person's budget comes back, so that none makes a person be forgotten by its own
    /// doing.
    public var countedPersons = 25_000

    // MARK: Enrolment over spent keys

    /// Secrets of earlier enrolments that one enrolment can show. Past it: 1400.
    public var shownDeviceSecrets = 8
    /// Keys that one enrolment can replace. Past it: 1400.
    public var replacedKeys = 16

    // MARK: Deregistration

    /// Keys that one deregistration can name. Past it: 1400.
    public var deregisteredKeys = 64
    /// Bytes that the names of keys may take in the message that has a phone delete them: several hundred names, and
    /// what a phone reads.
    public var deregistrationBytes = 48 * 1024
    /// How long a phone that lost the answer to a deregistration can ask for it again: to a dispatched one, or as the
    /// device itself.
    public var deregistrationRetention: Duration = .seconds(30 * 24 * 60 * 60)

    // MARK: Tokens and sessions

    /// How long an authorization code can be exchanged. Past it: `invalid_grant`.
    public var authorizationCodeLifetime: Duration = .seconds(60)
    /// How long a person can take over a sign-in page. Past it the page says that there is no such sign-in any more;
    /// the service sends the browser again.
    public var authorizationRequestLifetime: Duration = .seconds(15 * 60)
    /// How long an access token and an ID token are valid. Past it an access token is refused (401).
    public var accessTokenLifetime: Duration = .seconds(5 * 60)
    /// How long a browser's session at the server lasts. Past it the phone is asked for again.
    public var sessionLifetime: Duration = .seconds(12 * 60 * 60)
    /// How long a phone's token of an in-app authentication is valid. Past it: 401.
    public var deviceTokenLifetime: Duration = .seconds(5 * 60)
    /// How long a signed transaction result is valid.
    public var resultLifetime: Duration = .seconds(5 * 60)
    /// What only the OpenID provider has to know.
    public var oauth = OAuth()
    /// What only password accounts have to know.
    public var passwords = PasswordAccounts()
    /// Mail to people.
    public var mail = Mail()
    /// How long the cookie lives that knows a browser again.
    public var browserCookieLifetime: Duration = .seconds(400 * 24 * 60 * 60)

    // MARK: What a person's own phone sees

    /// The newest notices, and sessions, that a phone is shown.
    public var activityRows = 50
    /// How long a notice can be read. An older one is deleted.
    public var noticeRetention: Duration = .seconds(90 * 24 * 60 * 60)
    /// The services that a phone is shown for one session.
    public var servicesPerSession = 5

    // MARK: Personalised identities

    /// Requests that one device can prove to be its own at once, by its key. No app sends so many: it is the bound of one in a
    /// loop, and of a key that somebody has got. Past it: 429, before the database is asked for anything more.
    public var provenRequestBurst = 3_000
    /// Requests that it can prove each minute after that: about a hundredth of a core. Past it: 429.
    public var provenRequestsPerMinute = 600
    /// How long a session can be claimed that an app has opened for itself.
    public var inAppLifetime: Duration = .seconds(5 * 60)
    /// How long a session can be claimed that was pushed to a person's devices.
    public var pushLifetime: Duration = .seconds(180)
    /// How long what was granted to an app can be done: another PIN, a further factor or device, the account's deletion.
    public var grantLifetime: Duration = .seconds(5 * 60)
    /// How often a person's answers about attributes can be wrong in one session. With one more it ends.
    public var correctionsPerSession = 3
    /// How many new PINs one grant refuses. With the last of them it ends.
    public var pinsPerGrant = 3
    /// How long an activation rests after a first failed attempt. Past it the next one is judged: where that fails, too, it
    /// rests for the first of ``lockoutSeconds``. How many attempts there are does not depend on it.
    public var firstLockout: Duration = .seconds(5)
    /// How long an activation rests after more failed attempts in a row, in seconds: after the second, the third and so on;
    /// the last of them counts for all that follow.
    public var lockoutSeconds = [15, 60, 300, 1_800, 7_200, 43_200, 86_400]
    /// With so many failed attempts in a row an activation is disabled.
    public var lockoutFailuresInARow = 10
    /// With so many failed attempts within ``lockoutWindow`` it is disabled, too, whatever was right in between.
    public var lockoutFailuresInWindow = 100
    /// How long a failed attempt counts.
    public var lockoutWindow: Duration = .seconds(30 * 24 * 60 * 60)
    /// The values of one attribute that an account can have. Past it no further one is taken.
    public var valuesPerAttribute = 8
    /// The addresses that an account can have beside its first one. Past it no further one is taken.
    public var emailsPerAccount = 8
    /// The codes for further devices that an account can have waiting, of those that its person has had a page make. Past it
    /// the page says that one has to be taken back first.
    public var openOffersPerAccount = 4
    /// How long after signing in a person can end or rename something of their account on a page, and how long after the
    /// phone's confirmation a change can be made. Past it the page asks the person to sign in, or to confirm, once more.
    public var freshSignIn: Duration = .seconds(10 * 60)
    /// How long a person can say of a change of their account that it was somebody else's, and after that, that it was
    /// theirs. Past it the page refuses the question, and what rests of the change is deleted.
    public var changeQuestionLifetime: Duration = .seconds(7 * 24 * 60 * 60)
    /// How long a change waits after another provider has confirmed the change, for an account that has neither phone nor
    /// password. The change can be made from then on, until ``changeQuestionLifetime`` has passed.
    public var providerConfirmationWait: Duration = .seconds(24 * 60 * 60)
    /// How long an account's history has a session of its identity. Past it the session is forgotten.
    public var identityHistoryRetention: Duration = .seconds(396 * 24 * 60 * 60)
    /// The sessions that an account's history has: ten a day for as long as they are kept. Past it the oldest is forgotten,
    /// however young it is.
    public var identityHistoryRows = 4_000
    /// How long it is kept what a person has agreed to, with the signatures. A year, and a month to ask about its last day.
    public var identityConsentRetention: Duration = .seconds(396 * 24 * 60 * 60)
    /// The agreements that are kept of an account. Past it the oldest is forgotten, however young it is.
    public var identityConsentRows = 400
    /// The organisations that there can be.
    public var organisations = 1_000
    /// The invitations that can be open at a time.
    public var openInvites = 10_000
    /// How long an invitation can be accepted.
    public var inviteLifetime: Duration = .seconds(14 * 24 * 60 * 60)
    /// How long it is remembered what became of an invitation after its time.
    public var inviteRetention: Duration = .seconds(90 * 24 * 60 * 60)

    // MARK: Administration

    /// How long the one-time link for the first administrator works. Past it the next start makes another.
    public var administratorLinkLifetime: Duration = .seconds(15 * 60)
    /// How long an administrator's token works, at most. Past it: 401.
    public var administratorTokenLifetime: Duration = .seconds(365 * 24 * 60 * 60)
    /// Rows of one page of a list.
    public var pageSize = 100
    /// Characters of a user name.
    public var usernameCharacters = 128
    /// Characters of a display name, a device's name and a client's name.
    public var nameCharacters = 128

    // MARK: Messages

    /// Bytes of a JSON body. Past it: 413.
    public var bodyBytes = 64 * 1024
    /// Bytes of a UAF response. Past it: 413.
    public var uafResponseBytes = 16 * 1024
    /// Bytes of a request's header block. Past it the connection is closed.
    public var headerBytes = 16 * 1024
    /// How long a request's body can take to come in whole, from the end of its head. Past it: 408, and the connection
    /// is closed.
    public var requestDeadline: Duration = .seconds(30)
    /// How long a connection stays without a whole head: when it is new, and after each answer. Then it is closed.
    public var connectionIdleTime: Duration = .seconds(75)

    /// How long what a client does not read of its answers may stay without ``answerBytes`` of it leaving. Past it the
    /// connection is cut.
    public var answerPeriod: Duration = .seconds(30)
    /// Bytes of its answers that a client reads in each ``answerPeriod`` in which some are left. Below it the
    /// connection is cut.
    public var answerBytes = 4 * 1024
    /// How often a connection with something unsent is looked at: the one that has moved the least gives way first.
    public var answerLook: Duration = .seconds(1)
    /// What the system may keep of a connection's answers, in bytes. A connection whose client does not read costs no
    /// more, and one whose client reads slowly shows in time that it does.
    public var sendBufferBytes = 64 * 1024
    /// How long a client may leave what was sent to it unacknowledged.
    public var acknowledgementTime: Duration = .seconds(75)
    /// How long the other end can take to close a connection that the server has closed for its part.
    public var lingerTime: Duration = .seconds(2)
    /// How long the whole stop of the server can take, from the signal to the end of the process. The service manager
    /// kills the server after 30 seconds. Past it the process ends at once, the log says which part still went on, and
    /// what was acknowledged is on disk.
    public var stopTime: Duration = .seconds(25)
    /// How long requests under way can take to be answered when the server is told to stop. All of them have what
    /// ``stopTime`` leaves, less ``Fixed/stopReserve``, where that is shorter. Past that time the connection is cut.
    public var drainTime: Duration = .seconds(20)
    /// The same at the listeners of operators.
    public var operatorDrainTime: Duration = .seconds(2)
    /// The longest silence of a channel for events. Then the server sends a heartbeat.
    public var heartbeat: Duration = .seconds(15)

    // MARK: Connections

    /// Connections that one source can have at a time. By default a quarter of all. Past it the source loses its own
    /// connection that has waited the longest.
    public var connectionsPerSource = 2_500
    /// Channels for events that one source can have at a time, however many proxies they come through; by default as
    /// many as connections. Past it the source loses its oldest channel, whose page asks again.
    public var channelsPerSource = 2_500
    /// How many sources could each have their whole share of all connections.
    public var sharesOfConnections = 4
    /// No share is smaller: a browser opens six connections, and a phone its own.
    public var smallestShare = 8
    /// It is said in the log at most so often that a bound is reached which anybody can reach.
    public var pauseOfReports: Duration = .seconds(60)

    // MARK: Store

    /// Steps that may wait for the writer; past it the store is unavailable (503).
    public var waitingSteps = 4096
    /// Steps that share one commit.
    public var stepsPerCommit = 256
    /// Tokens of dispatch and refresh that a process remembers to have written, 16 bytes each or a little more; one that it remembers
    /// goes to the writer at once, and any other is looked up by a reader before.
    public var handedOutTokens = 32_768
    /// Threads, and connections, that read.
    public var readers = 2
    /// Memory for pages, each connection, in KiB; taken as it is needed.
    public var cacheKibibytes = 16 * 1024
    /// Pages that the log of what was written may have before they go into the database's file, 4 KiB each: a page that
    /// is written again meanwhile goes there once. After a crash so many are read at the start.
    public var logPages = 8000
    /// How long the store waits for a foreign lock on its file.
    public var busyTimeout: Duration = .seconds(2)

    /// The defaults.
    public init() {}

    /// The defaults of a server that can have so many connections at a time.
    public init(connections: Int) {
        self.init()
        let share = min(connections, max(self.smallestShare, connections / self.sharesOfConnections))
        self.connectionsPerSource = share
        self.channelsPerSource = share
    }
}

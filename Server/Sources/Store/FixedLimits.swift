extension Limits {
    /// Limits that are the same on every server. No option changes them.
    public enum Fixed {
        // MARK: Settings

        /// The letters of a code that is mailed and typed: 50 bits.
        public static let mailedCodeLetters = 10

        /// The least that two moments are apart: timestamps are whole milliseconds.
        public static let clockTick: Duration = .milliseconds(1)
        /// The largest number that a budget can be set to. Past it there is none.
        public static let largestBudget = 1_000_000
        /// The shortest life that anything can be given.
        public static let shortestLifetime: Duration = .seconds(1)
        /// How many times its default a lifetime can be set to. Past that the threat model's assumptions no longer
        /// hold.
        public static let lifetimeFactor = 2

        // MARK: Keys of personalised identities

        /// How old the key is that phones seal to when another takes its place.
        public static let sealingKeyTurn: Duration = .seconds(24 * 60 * 60)
        /// How long the set of keys is good that phones fetch. They fetch a new one each day.
        public static let keySetLifetime: Duration = .seconds(2 * 24 * 60 * 60)
        /// After how long the set is signed anew where nothing in it has changed.
        public static let keySetRenewal: Duration = .seconds(60 * 60)
        /// How long what was sealed to a key is opened after phones must not seal to it any more: the longest that a session
        /// waits.
        public static let sealingKeyAfterlife: Duration = .seconds(60 * 60)

        /// Keys to seal to that there are at a time. Past it none is made by hand until one is erased: phones read all of them.
        public static let sealingKeys = 16

        /// How long an invitation is good that a newcomer has asked for.
        public static let newcomerLifetime: Duration = .seconds(60 * 60)
        /// Of the invitations that can be open at a time newcomers have one in so many: the others are the operators'.
        public static let newcomersShare = 2

        /// Letters of an activation's identifier in a proof.
        public static let activationLetters = 64
        /// How far the clocks are ahead of UTC where the next day begins first: whose birthday it is there was born today.
        public static let earliestTimeZone: Duration = .seconds(14 * 60 * 60)

        // MARK: What is said of what somebody sent

        /// Characters of a refused app's name in log and trail. The rest is left out.
        public static let refusedFacetCharacters = 128
        /// Entries of the audit trail in an hour about refused apps that no ceremony names. They stay for ever, and whoever
        /// sends such a name has chosen it; the log has more of them.
        public static let refusedFacetEntries = 60
        /// Characters of a typed code that are read: all that it has, and as many dashes and spaces as anybody puts in.
        public static let typedCodeCharacters = 64
        /// Bytes of a client's name in a request that is refused, for the log. A longer one is not named.
        public static let notedClientBytes = 64
        /// Bytes of `User-Agent` that a browser is recognised by. A longer one is "a browser".
        public static let userAgentBytes = 1024
        /// Bytes of a parameter of the sign-in pages. A longer one counts as missing.
        public static let pageParameterBytes = 128
        /// Bytes of `login_hint`: more than any user name or e-mail address has.
        public static let loginHintBytes = 1024
        /// Words of `acr_values`.
        public static let requestedLevels = 16
        /// What a person can have agreed to that a client may have, each time something else. Past it the oldest ends.
        public static let consentsPerClient = 16
        /// Authentications that a session remembers. Past it the oldest no longer counts as one of its.
        public static let authenticationsPerSession = 16
        /// After so long, at most, somebody who has used a budget up is told to come again (`Retry-After`).
        public static let longestRetry: Duration = .seconds(60 * 60)

        // MARK: HTTP

        /// Bytes of a request's target: path and query. Past it: 414.
        public static let targetBytes = 8 * 1024
        /// Bytes of it that stay for the path where a form becomes a query.
        public static let pathBytes = 64
        /// Fields of a request's head. Past it the connection is closed.
        public static let headerFields = 100
        /// How long phones may keep the list of facets.
        public static let facetListLifetime: Duration = .seconds(60 * 60)
        /// How long browsers may keep an asset, whose name changes with its content.
        public static let assetLifetime: Duration = .seconds(365 * 24 * 60 * 60)
        /// How long a browser that has come by https keeps to it (`Strict-Transport-Security`).
        public static let transportSecurityLifetime: Duration = .seconds(365 * 24 * 60 * 60)
        /// After how long a browser asks again for a channel that has ended.
        public static let eventRetry: Duration = .seconds(1)
        /// How exactly a waiting page is told that a phase is over.
        public static let watchTick: Duration = .seconds(1)
        /// Sets of labels that one name of the metrics has. What else comes counts under `other`.
        public static let seriesPerName = 1000
        /// The upper bounds of what a histogram counts, in seconds: from a page out of memory to a step that waited for a
        /// slow disk.
        public static let histogramBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
        /// Where more than one connection in so many says nothing, it is a flood, and a new connection does not wait for
        /// them.
        public static let silentShare = 4
        /// Files that a process keeps for the store, the listeners of operators, and what is read again.
        public static let reservedFiles = 128
        /// Connections of the public listener where nobody set them: past it one costs more memory than a small machine
        /// has.
        public static let mostConnections = 10_000
        /// Files that a process may open, where the system does not say.
        public static let assumedFiles = 1024

        /// The last part of ``Limits/stopTime``. No connection takes it: the services beside the listeners end in it, and the
        /// store is closed.
        public static let stopReserve: Duration = .seconds(5)
        /// When the server stops, the server cuts a peer that has read nothing for this many looks in a row.
        public static let looksOfStop = 2

        // MARK: OpenID

        /// How long the refresh token before the last two is refused without consequences, once the token that it gave was
        /// used: a request was late, or came twice. Past that time such a token ends its family.
        public static let lateRefreshTime: Duration = .seconds(60)
        /// The longest time after its first use for which a client's refresh token can be let give the same next token.
        public static let longestUsedRefreshToken: Duration = .seconds(60 * 60)
        /// The longest part of a person's name that services are told (`given_name`, `family_name`, `middle_name`), in characters.
        public static let profileNameCharacters = 256
        /// The longest address of a person's picture, in characters.
        public static let pictureAddressCharacters = 1024
        /// The longest language or time zone of a person (`locale`, `zoneinfo`), in characters.
        public static let profileTagCharacters = 64
        /// Random bytes by which a refresh token follows from the one before it.
        public static let refreshStepBytes = 16
        /// Characters of a signed token that is read. A longer one is refused unread.
        public static let signedTokenCharacters = 8192
        /// Access tokens that a process knows to be good, so that it need not verify them again, are twice as many at most:
        /// 10 MB.
        public static let verifiedTokens = 50_000
        /// For how long opaque tokens are made under one key, so that no key ever seals 2³² of them.
        public static let opaqueTokenKeyLifetime: Duration = .seconds(60 * 60)
        /// How long what a service signs to get a token by can count.
        public static let serviceAssertionLifetime: Duration = .seconds(5 * 60)
        /// Resources that one client can own, and as many that it can ask tokens for.
        public static let resourcesPerClient = 16
        /// Scopes of its own that one client can have.
        public static let scopesPerClient = 16
        /// Clients whose tokens one client can exchange.
        public static let subjectsPerClient = 16
        /// How often a token can be exchanged for another: so many services can act one for the other.
        public static let exchangeDepth = 4
        /// Bytes of the name of a client's certificate.
        public static let certificateNameBytes = 1024
        /// Characters of the name of a group of apps.
        public static let groupCharacters = 64
        /// Characters of one of a client's scopes.
        public static let scopeCharacters = 128
        /// Characters of a cookie's value, of a browser or a session: 32 bytes as base64url.
        public static let cookieCharacters = 43
        /// Characters of a redirect address that a refusal repeats to the administrator who gave it.
        public static let shownAddressCharacters = 200
        /// Addresses of a host that a call tries, one after the other. A name that stands for many would have this server knock
        /// at all of them.
        public static let triedAddresses = 4
        /// Digits of `max_age`: thirty years.
        public static let maximumAgeDigits = 9
        /// The greatest number of so many digits, for the `max_age` of requests that have none.
        public static let maximumAges: Int64 = 999_999_999
        /// Letters of the code that a person types for a device: 50 bits.
        public static let deviceUserCodeLetters = 10
        /// How long whoever asks whether a person has answered waits from one question to the next (RFC 8628, section 3.5).
        /// By as much it grows where they do not.
        public static let pollingInterval: Duration = .seconds(5)
        /// How long they have to wait at most, however often they asked too soon.
        public static let longestPollingInterval: Duration = .seconds(30)
        /// How much sooner a question may come: what a network does to the time between two.
        public static let pollingTolerance: Duration = .seconds(1)
        /// Bytes of `client_notification_token` (OpenID Connect CIBA Core 1.0, section 7.1).
        public static let notificationTokenBytes = 1024
        /// How often the keys may be read again because a token names one that is not known: anybody can invent names.
        public static let keyLookupPause: Duration = .seconds(1)
        /// How long a code of a client of FAPI 2.0 lives at most, whatever is set (section 5.3.2.1).
        public static let fapiCodeLifetime: Duration = .seconds(60)
        /// How long a browser can come with a request that such a client has pushed, at most: less than 600 seconds (section
        /// 5.3.2.2).
        public static let fapiPushedRequestLifetime: Duration = .seconds(599)
        /// Bytes of `authorization_details`. What was granted goes into access tokens.
        public static let authorizationDetailsBytes = 2048
        /// How long browsers may keep what they were told of a request that a page's script wants to make.
        public static let preflightLifetime: Duration = .seconds(10 * 60)
        /// How long an initial access token lasts where the operator does not say.
        public static let usualInitialTokenLifetime: Duration = .seconds(24 * 60 * 60)
        /// How long a client's former secret is taken beside the new one, where the operator does not say.
        public static let usualSecretOverlap: Duration = .seconds(24 * 60 * 60)

        /// Letters of the word for a version of the operator's terms.
        public static let termsVersionLetters = 64

        // MARK: The app sign-in service

        /// The fewest characters of `state` there: as many as 128 random bits have as base64url.
        public static let signInServiceStateCharacters = 22
        /// How long an access token of a client of it can live.
        public static let signInServiceAccessLifetimes: ClosedRange<Duration> = .seconds(60)...(.seconds(30 * 60))
        /// How long a session of a client of it can go on without being renewed.
        public static let signInServiceSessionLifetimes: ClosedRange<Duration> =
            .seconds(5 * 60)...(.seconds(45 * 24 * 60 * 60))
        /// How long an access token of a service account lives at most.
        public static let serviceAccountAccessLifetime: Duration = .seconds(5 * 60)
        /// Words for what its tokens can say of a person.
        public static let serviceAccountAttributes = 16
        /// Bytes of what they say under one such word.
        public static let serviceAccountAttributeBytes = 256
        /// Bytes of a file of simulated people.
        public static let simulatedPeopleBytes = 1024 * 1024
        /// Lines of such a file.
        public static let simulatedPeopleLines = 10_000
        /// Bytes of such a line.
        public static let simulatedPersonBytes = 4096
        /// Identifiers of one kind that a simulated person can have.
        public static let simulatedIdentifiers = 16
        /// Bytes of one of those, and of who the person is.
        public static let simulatedTextBytes = 255
        /// Words for levels that one client can ask for.
        public static let signInServiceLevels = 16
        /// Bytes of such a word, and of whom its access tokens are for.
        public static let signInServiceWordBytes = 128
        /// Letters that the names of its cookies begin with.
        public static let cookiePrefixLetters = 32
        /// How long an access token of its lives where the operator does not say.
        public static let usualAppAccessLifetime: Duration = .seconds(5 * 60)
        /// How long a session of its goes on without being renewed where the operator does not say.
        public static let usualAppSessionLifetime: Duration = .seconds(30 * 60)

        // MARK: Other providers

        /// Letters of the name of another provider.
        public static let upstreamNameLetters = 32
        /// Bytes of a text that an operator gives of another provider: an identifier there, a secret, a word for a level.
        public static let upstreamTextBytes = 512
        /// Scopes that another provider is asked for, words of its that are translated, domains that it decides about: of
        /// each so many.
        public static let upstreamListEntries = 32
        /// Bytes of what another provider answers with tokens or with what it knows of a person. A longer answer is a
        /// failure.
        public static let upstreamAnswerBytes = 64 * 1024
        /// Letters of an error's code of another provider that the log shows.
        public static let upstreamErrorLetters = 64
        /// Bytes of a subject (OpenID Connect Core 1.0, section 2).
        public static let upstreamSubjectBytes = 255
        /// Identities at other providers that one account can be connected with.
        public static let linksPerAccount = 16

        // MARK: Personalised identities

        /// Roles of one service.
        public static let rolesPerService = 16
        /// Letters of a role's identifier.
        public static let roleLetters = 64
        /// Characters (Unicode scalars) of the name of a role, an organisation or a value: what phones show.
        public static let shownNameCharacters = 128
        /// Login domains of one service.
        public static let loginDomains = 32

        // MARK: Accounts

        /// Characters of each part of a postal address.
        public static let addressPartCharacters = 256
        /// Bytes of a host (RFC 1035, section 2.3.4, without the length bytes).
        public static let hostBytes = 253
        /// Bytes of a label of a host (RFC 1035, section 2.3.4).
        public static let hostLabelBytes = 63
        /// The sum of the weights in the document of invented accounts. Four bits of a name's seed choose a weight. Sixteen
        /// steps let invented accounts look like the real ones, and hide how many real ones there are.
        public static let inventedWeights = 16
        /// Devices of an invented account: as many as its seed has draws for.
        public static let inventedDevices = 3
        /// Keys of a device of an invented account.
        public static let inventedKeys = 8
        /// Numbers by which wrong passwords of names that nobody has are counted: each name has one, and shares it with
        /// others.
        public static let unknownNames = 4096
        /// Accounts whose refused attempts are counted for the trail at a time. Past it the others share one entry without an
        /// account.
        public static let refusedAccounts = 10_000
        /// Seconds of a day, by which attempts at a password are counted together.
        public static let daySeconds: Int64 = 24 * 60 * 60
        /// Doublings of the rest after wrong passwords: by then the longest is reached.
        public static let restDoublings = 16

        /// Bytes of a message: so many are on their way before anybody reads. A longer one is not sent.
        public static let mailBytes = 4096
        /// Bytes of what the mail command says that are kept for the log. What follows is read and dropped.
        public static let mailCommandWordBytes = 1024

        // MARK: Store

        /// Clients that are kept in memory as they were read. With one more all are forgotten.
        public static let knownClients = 1500
        /// How many values one process seals before it takes other keys: far fewer than the 2³² after which two random
        /// nonces of one key would be likely the same.
        public static let sealedPerStretch = 1 << 24
        /// Keys of sealed values that a process keeps at hand. Past it all are derived anew when they are needed.
        public static let keptSealingKeys = 4096
        /// Sealed values of which a process keeps at hand what they say. Past it all are opened anew when they are needed.
        public static let keptOpenedValues = 4096
        /// Rows that are looked at, and sealed anew where they need it, in one step.
        public static let resealedRows = 100
        /// Reads that one thread takes at a time.
        public static let readsPerTurn = 32
        /// How many commits may wait for the disk while the writer goes on. Past it the writer waits.
        public static let commitsAhead = 8
        /// How much sooner than the entry before an event may have happened that is dated with that one's moment, so that the
        /// trail stands in the order of time: steps wait for each other. A clock that was set back by more shows in the trail.
        public static let auditDisorder: Duration = .seconds(30)
        /// Entries of the audit trail that are read at a time when it is checked.
        public static let auditPage = 1000
        /// Bytes of a backup's manifest. A longer one is no backup's.
        public static let backupManifestBytes = 64 * 1024
        /// Bytes that are copied at a time.
        public static let copyPieceBytes = 1024 * 1024
    }

    /// The PIN service, and the server that asks it.
    public enum Evaluations {
        /// How long it can take to accept a connection, or for one to become free. Past it nothing was asked.
        public static let connectTime: Duration = .seconds(2)
        /// Connections that a server has to the service. With more questions the others wait for one.
        public static let connections = 32
        /// Questions of a server at a time, those that wait for a connection among them. Past it nothing was asked.
        public static let asking = 256
        /// How long its answer can take. Past it nobody knows what it has done.
        public static let answerTime: Duration = .seconds(5)
        /// Bytes of a question and of an answer. A longer question is answered 413.
        public static let bodyBytes = 1024
        /// Questions that wait or are answered at a time, 2 ms each. Past it 503.
        public static let waiting = 512
        /// Requests by which a phone asks about one PIN while their proofs are good. Past it, 200 with `tooManyRequests`.
        public static let requestsPerQuestion = 8
        /// First PINs that may be asked about for one proof of an activation's PIN. Past it, 200 with `pinAlreadyAsked`.
        public static let questionsPerProof = 5
        /// How long an evaluation counts. Past it its activation has one more.
        public static let window: Duration = .seconds(24 * 60 * 60)
    }

    /// When `countersign doctor` calls something bad.
    public enum Doctor {
        /// How long the oldest letter can wait.
        public static let longestMailWait: Duration = .seconds(10 * 60)
        /// Bytes that have to be free on the disk of the data folder, and as many as the database has where that has more.
        public static let leastFreeBytes: Int64 = 512 * 1024 * 1024
        /// How long a certificate has to be valid still.
        public static let leastCertificateTime: Duration = .seconds(14 * 24 * 60 * 60)
    }

    /// What the operator's commands go by.
    public enum Commands {
        /// How long a server can take to accept a connection. Past it the exit code is 5.
        public static let connectTime: Duration = .seconds(5)
        /// How long an answer can take. Past it the exit code is 5.
        public static let answerTime: Duration = .seconds(30)
        /// How long the check of a whole audit trail can take.
        public static let auditVerificationTime: Duration = .seconds(60 * 60)
        /// How long a letter can take that is a test: longer than the mail command can (`mailCommandTime`).
        public static let mailTestTime: Duration = .seconds(45)
        /// How long a proposal for invented accounts can take.
        public static let proposalTime: Duration = .seconds(5 * 60)
        /// Bytes of an answer that are read.
        public static let answerBytes = 1024 * 1024
        /// Values in an answer.
        public static let answerValues = 200_000
        /// Characters of a refusal's reason that are shown.
        public static let shownReasonCharacters = 1000
        /// Of each kind of what is otherwise after a restore, so many are named to people; with `--json` all are.
        public static let shownChanges = 20
        /// Letters of a server's path below its host: it stands in every link and every QR code.
        public static let addressPathLetters = 64
        /// How often it is asked how far an activation is.
        public static let activationPause: Duration = .milliseconds(500)
        /// How often it is said how far a copy has come.
        public static let progressPause: Duration = .seconds(2)
        /// Bytes of a file that `countersign uaf` reads: a metadata statement is the largest.
        public static let uafFileBytes = 256 * 1024
    }
}

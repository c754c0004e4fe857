extension Limits {
    /// Limits that are the same on every server. No option changes them.
    public enum Fixed {
        // MARK: Push

        /// The bytes that are read of a push service's answer.
        public static let pushAnswerBytes = 16_384
        /// The bytes of an encrypted message by Web Push (RFC 8291, section 4).
        public static let webPushRecordBytes = 4096
        /// The bytes of an endpoint of Web Push.
        public static let pushEndpointBytes = 2048
        /// The hexadecimal digits of a device token of Apple. Apple promises no length.
        public static let deviceTokenDigits = 400
        /// The bytes of a key file of a push service.
        public static let pushKeyFileBytes = 65_536

        // MARK: Settings

        /// The characters of the name, of the model and of the network of a new device in the text by which another
        /// device approves the new device: the whole text has at most 200 characters.
        public static let approvalTextPart = 32
        /// The letters of a code that is mailed and typed: 50 bits.
        public static let mailedCodeLetters = 10

        /// The smallest difference between two moments. Timestamps are whole milliseconds.
        public static let clockTick: Duration = .milliseconds(1)
        /// The largest number that a budget can be set to. Larger numbers are refused.
        public static let largestBudget = 1_000_000
        /// The shortest lifetime that can be set.
        public static let shortestLifetime: Duration = .seconds(1)
        /// The largest multiple of its default that a lifetime can be set to. Past that the threat model's assumptions
        /// no longer hold.
        public static let lifetimeFactor = 2

        /// The bytes of the file of the operator's apps. A longer file is refused.
        public static let appsFileBytes = 256 * 1024
        /// The apps in the file of the operator's apps.
        public static let appEntries = 32
        /// The signing certificates of an app for Android.
        public static let certificatesPerApp = 8
        /// The letters of the name of an app's package for Android.
        public static let androidPackageLetters = 255

        // MARK: Keys of personalised identities

        /// The age of the key that phones seal to at which another key takes its place.
        public static let sealingKeyTurn: Duration = .seconds(24 * 60 * 60)
        /// The life of the set of keys that phones fetch. Phones fetch a new set each day.
        public static let keySetLifetime: Duration = .seconds(2 * 24 * 60 * 60)
        /// The time until the set is signed anew if nothing in the set has changed.
        public static let keySetRenewal: Duration = .seconds(60 * 60)
        /// The time for opening sealed messages after phones must not seal to the key any more. The time is the longest
        /// wait of a session.
        public static let sealingKeyAfterlife: Duration = .seconds(60 * 60)

        /// The largest number of keys for sealing at a time. Past it no key can be made by hand until a key is erased.
        /// Phones read all keys.
        public static let sealingKeys = 16

        /// The life of an invitation that a newcomer has requested.
        public static let newcomerLifetime: Duration = .seconds(60 * 60)
        /// The divisor for the newcomers' share of the invitations that can be open at a time. While as many
        /// invitations as this share are open, operators' invitations included, only operators can invite.
        public static let newcomersShare = 2

        /// The letters of an activation's identifier in a proof.
        public static let activationLetters = 64
        /// The lead over UTC of the clocks in the zone where the next day begins first. A person can have
        /// been born on the day that has begun in this zone.
        public static let earliestTimeZone: Duration = .seconds(14 * 60 * 60)

        // MARK: What is said of what somebody sent

        /// The characters of a refused app's name in log and trail. The rest is left out.
        public static let refusedFacetCharacters = 128
        /// The audit entries in an hour about refused apps without a ceremony. The entries stay for ever, and the
        /// sender chooses the name. The log has more of the refusals.
        public static let refusedFacetEntries = 60
        /// The bytes of a dispatcher's text for a QR code: version 40 with error correction M (ISO/IEC 18004). A longer
        /// text is the dispatcher's failure.
        public static let qrCodeBytes = 2331
        /// The shortest time between two audit entries about undelivered dispatches of a client by a dispatcher, and between
        /// two about undelivered statements of ended sessions. The entries stay for ever, and a client's dispatches are
        /// many. The metrics count all of them.
        public static let undeliveredPause: Duration = .seconds(60 * 60)
        /// The statements of ended sessions that wait for each client. When a client has so many, the client's oldest
        /// statement is given up: its signed result is over five minutes after the confirmation anyway.
        public static let waitingStatements = 1000
        /// The bytes of a device's push address. The providers' addresses have a few hundred bytes; the form of an address
        /// is the provider's, and Web Push sends an address with two keys.
        public static let pushAddressBytes = 4096
        /// The step in which the time of a device's latest proof advances. A device that proves a request each second
        /// would otherwise write each second.
        public static let deviceSeenInterval: Duration = .seconds(60 * 60)
        /// The digits of the number that a person types on the phone to answer a request that the person has begun
        /// elsewhere.
        public static let matchedDigits = 6
        /// The wrong numbers of a person within ``wrongNumberMemory`` after which no number is judged and nobody reaches
        /// the person by asking alone, until one of them is older.
        public static let wrongNumbers = 5
        /// The time in which a wrong number counts.
        public static let wrongNumberMemory: Duration = .seconds(60 * 60)
        /// The time in which a client does not reach a person by asking alone, after the person has disowned a request
        /// of the client. Each further rest is twice as long.
        public static let firstAskingRest: Duration = .seconds(60 * 60)
        /// The longest such rest.
        public static let longestAskingRest: Duration = .seconds(24 * 60 * 60)
        /// The time after the end of a rest in which a further rest is longer than the first.
        public static let askingRestMemory: Duration = .seconds(7 * 24 * 60 * 60)
        /// The time in which a message to a person's device counts for the budgets of a short time.
        public static let pushPeriod: Duration = .seconds(10 * 60)
        /// The time in which a message to a person's device counts for the budgets of a day.
        public static let pushDay: Duration = .seconds(24 * 60 * 60)
        /// The characters of a typed code that are read: all characters of the code, and room for dashes and spaces.
        public static let typedCodeCharacters = 64
        /// The bytes of a client's name in a refused request, for the log. A longer name is not logged.
        public static let notedClientBytes = 64
        /// The bytes of `User-Agent` for recognising a browser. A browser with a longer value is "a browser".
        public static let userAgentBytes = 1024
        /// The bytes of a parameter of the sign-in pages. A longer parameter counts as missing.
        public static let pageParameterBytes = 128
        /// The bytes of `login_hint`: more than any user name or e-mail address has.
        public static let loginHintBytes = 1024
        /// The words of `acr_values`.
        public static let requestedLevels = 16
        /// The different agreements of a person with each client at a time. Past it the oldest agreement ends.
        public static let consentsPerClient = 16
        /// The remembered authentications of a session. Past it the oldest authentication no longer counts for the
        /// session.
        public static let authenticationsPerSession = 16
        /// The longest time in `Retry-After` for a caller without budget.
        public static let longestRetry: Duration = .seconds(60 * 60)

        // MARK: HTTP

        /// The bytes of a request's target: path and query. Past it: 414.
        public static let targetBytes = 8 * 1024
        /// The bytes of the target reserved for the path when a form becomes a query.
        public static let pathBytes = 64
        /// The fields of a request's head. Past it the connection is closed.
        public static let headerFields = 100
        /// The time for phones to keep the list of facets.
        public static let facetListLifetime: Duration = .seconds(60 * 60)
        /// The time for browsers to keep an asset. The name of an asset changes with its content.
        public static let assetLifetime: Duration = .seconds(365 * 24 * 60 * 60)
        /// The time for a browser to keep to https after the browser has come by https (`Strict-Transport-Security`).
        public static let transportSecurityLifetime: Duration = .seconds(365 * 24 * 60 * 60)
        /// The time until a browser asks again for an ended channel.
        public static let eventRetry: Duration = .seconds(1)
        /// The accuracy with which a waiting page learns that a phase is over.
        public static let watchTick: Duration = .seconds(1)
        /// The pause between two looks for changes of devices and accounts, while devices wait on streams. A stream ends
        /// within a second of its device's removal.
        public static let deviceLook: Duration = .milliseconds(400)
        /// The connections that an account's streams can have for each stream, because a displaced stream is told of its
        /// end before its connection ends.
        public static let connectionsPerDeviceStream = 2
        /// The sets of labels of one name of the metrics. Further sets count under `other`.
        public static let seriesPerName = 1000
        /// The upper bounds of a histogram's buckets, in seconds: from a page out of memory to a step that waited for a
        /// slow disk.
        public static let histogramBounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
        /// The share of silent connections that makes a flood. If more than one connection in this many sends nothing,
        /// a new connection does not wait for the silent connections.
        public static let silentShare = 4
        /// The files that a process reserves for the store, for the listeners of operators, and for files that are read
        /// again.
        public static let reservedFiles = 128
        /// The connections of the public listener if no setting names a number. Past it a connection costs more memory
        /// than a small machine has.
        public static let mostConnections = 10_000
        /// The number of files that a process may open, if the system does not say.
        public static let assumedFiles = 1024

        /// The last part of ``Limits/stopTime``. No connection takes this part: the services beside the listeners end
        /// in it, and the store is closed.
        public static let stopReserve: Duration = .seconds(5)
        /// The number of looks in a row without any reading after which a stopping server cuts a peer.
        public static let looksOfStop = 2

        // MARK: OpenID

        /// The time for refusing the refresh token before the last two without consequences, after the first use of the
        /// token that followed it. A request was late, or came twice. Past that time the token ends its family.
        public static let lateRefreshTime: Duration = .seconds(60)
        /// The longest setting of a client for the time after the first use of a refresh token in which the token gives
        /// the same next token again.
        public static let longestUsedRefreshToken: Duration = .seconds(60 * 60)
        /// The longest part of a person's name that services are told (`given_name`, `family_name`, `middle_name`), in
        /// characters.
        public static let profileNameCharacters = 256
        /// The longest address of a person's picture, in characters.
        public static let pictureAddressCharacters = 1024
        /// The longest language or time zone of a person (`locale`, `zoneinfo`), in characters.
        public static let profileTagCharacters = 64
        /// The random bytes by which a refresh token follows from the token before.
        public static let refreshStepBytes = 16
        /// The characters of a signed token. A longer token is refused unread.
        public static let signedTokenCharacters = 8192
        /// Half the largest number of access tokens that a process remembers as valid, to avoid a second verification.
        /// The memory takes 10 MB at most.
        public static let verifiedTokens = 50_000
        /// The time for which opaque tokens are made under one key. So no key ever seals 2³² tokens.
        public static let opaqueTokenKeyLifetime: Duration = .seconds(60 * 60)
        /// The longest life of the assertion that a service signs to get a token.
        public static let serviceAssertionLifetime: Duration = .seconds(5 * 60)
        /// The resources that each client can own, and the number of resources for which each client can request
        /// tokens.
        public static let resourcesPerClient = 16
        /// The scopes that each client can define.
        public static let scopesPerClient = 16
        /// The clients whose tokens each client can exchange.
        public static let subjectsPerClient = 16
        /// The number of times that a token can be exchanged for another: so many services can act in a chain for one
        /// another.
        public static let exchangeDepth = 4
        /// The bytes of the name of a client's certificate.
        public static let certificateNameBytes = 1024
        /// The characters of the name of a group of apps.
        public static let groupCharacters = 64
        /// The characters of a client's own scope.
        public static let scopeCharacters = 128
        /// The characters of a cookie's value, of a browser or a session: 32 bytes as base64url.
        public static let cookieCharacters = 43
        /// The characters of a redirect address in a refusal to the administrator who gave the address.
        public static let shownAddressCharacters = 200
        /// The addresses of a host for one call, tried one after the other. Without the bound, a name with many
        /// addresses would make this server knock at all of them.
        public static let triedAddresses = 4
        /// The digits of `max_age`: thirty years.
        public static let maximumAgeDigits = 9
        /// The greatest number with this many digits, as the `max_age` of requests without the parameter.
        public static let maximumAges: Int64 = 999_999_999
        /// The letters of the code that a person types for a device: 50 bits.
        public static let deviceUserCodeLetters = 10
        /// The pause between two questions of a client about a person's answer (RFC 8628, section 3.5). The pause grows
        /// by the same time if the client asks too soon.
        public static let pollingInterval: Duration = .seconds(5)
        /// The longest pause between two questions of a client, however often the client asked too soon.
        public static let longestPollingInterval: Duration = .seconds(30)
        /// The time by which a question may come too soon. The network can change the time between two questions by as
        /// much.
        public static let pollingTolerance: Duration = .seconds(1)
        /// The bytes of `client_notification_token` (OpenID Connect CIBA Core 1.0, section 7.1).
        public static let notificationTokenBytes = 1024
        /// The shortest time between two reads of the keys because a token names an unknown key. Any sender can invent
        /// names.
        public static let keyLookupPause: Duration = .seconds(1)
        /// The longest life of a code of a client of FAPI 2.0, whatever is set (section 5.3.2.1).
        public static let fapiCodeLifetime: Duration = .seconds(60)
        /// The longest time for a browser to come with a pushed request of a client of FAPI 2.0: less than 600 seconds
        /// (section 5.3.2.2).
        public static let fapiPushedRequestLifetime: Duration = .seconds(599)
        /// The bytes of `authorization_details`. The granted details go into access tokens.
        public static let authorizationDetailsBytes = 2048
        /// The time for browsers to keep the answer to a preflight request of a page's script.
        public static let preflightLifetime: Duration = .seconds(10 * 60)
        /// The life of an initial access token if the operator does not set a life.
        public static let usualInitialTokenLifetime: Duration = .seconds(24 * 60 * 60)
        /// The time for taking a client's former secret beside the new secret, if the operator does not set a time.
        public static let usualSecretOverlap: Duration = .seconds(24 * 60 * 60)

        /// The letters of the word for a version of the operator's terms.
        public static let termsVersionLetters = 64

        // MARK: The app sign-in service

        /// The fewest characters of `state` at the app sign-in service: as many as 128 random bits have as base64url.
        public static let signInServiceStateCharacters = 22
        /// The range for the life of an access token of a client of the service.
        public static let signInServiceAccessLifetimes: ClosedRange<Duration> = .seconds(60)...(.seconds(30 * 60))
        /// The range for the life of a client's session at the service without a renewal.
        public static let signInServiceSessionLifetimes: ClosedRange<Duration> =
            .seconds(5 * 60)...(.seconds(45 * 24 * 60 * 60))
        /// The longest life of an access token of a service account.
        public static let serviceAccountAccessLifetime: Duration = .seconds(5 * 60)
        /// The words for facts about a person in a service account's tokens.
        public static let serviceAccountAttributes = 16
        /// The bytes of the value under each of these words.
        public static let serviceAccountAttributeBytes = 256
        /// The bytes of a file of simulated people.
        public static let simulatedPeopleBytes = 1024 * 1024
        /// The lines of a file of simulated people.
        public static let simulatedPeopleLines = 10_000
        /// The bytes of a line in a file of simulated people.
        public static let simulatedPersonBytes = 4096
        /// The identifiers of one kind for a simulated person.
        public static let simulatedIdentifiers = 16
        /// The bytes of an identifier of a simulated person, and of the person's user name, provider and subject.
        public static let simulatedTextBytes = 255
        /// The words for levels that each client can request.
        public static let signInServiceLevels = 16
        /// The bytes of a word for a level, and of the audience of the client's access tokens.
        public static let signInServiceWordBytes = 128
        /// The letters of the prefix of the service's cookie names.
        public static let cookiePrefixLetters = 32
        /// The life of an access token of a client of the service if the operator does not set a life.
        public static let usualAppAccessLifetime: Duration = .seconds(5 * 60)
        /// The life of a client's session at the service without a renewal, if the operator does not set a time.
        public static let usualAppSessionLifetime: Duration = .seconds(30 * 60)

        // MARK: Other providers

        /// The letters of the name of another provider.
        public static let upstreamNameLetters = 32
        /// The bytes of an operator's text about another provider: an identifier there, a secret, a word for a level.
        public static let upstreamTextBytes = 512
        /// The entries of each list of another provider: requested scopes, translated words, and the domains that the
        /// provider decides about.
        public static let upstreamListEntries = 32
        /// The bytes of another provider's answer with tokens or with facts about a person. A longer answer is a
        /// failure.
        public static let upstreamAnswerBytes = 64 * 1024
        /// The letters of another provider's error code that the log shows.
        public static let upstreamErrorLetters = 64
        /// The bytes of a subject (OpenID Connect Core 1.0, section 2).
        public static let upstreamSubjectBytes = 255
        /// The identities at other providers that each account can be connected with.
        public static let linksPerAccount = 16

        // MARK: Personalised identities

        /// The roles of one service.
        public static let rolesPerService = 16
        /// The letters of a role's identifier.
        public static let roleLetters = 64
        /// The characters (Unicode scalars) of the name of a role, an organisation or a value, as phones show the name.
        public static let shownNameCharacters = 128
        /// The login domains of one service.
        public static let loginDomains = 32

        // MARK: Accounts

        /// The characters of each part of a postal address.
        public static let addressPartCharacters = 256
        /// The bytes of a host (RFC 1035, section 2.3.4, without the length bytes).
        public static let hostBytes = 253
        /// The bytes of a label of a host (RFC 1035, section 2.3.4).
        public static let hostLabelBytes = 63
        /// The sum of the weights in the document of invented accounts. Four bits of a name's seed choose a weight.
        /// Sixteen steps let invented accounts look like the real ones, and hide how many real ones there are.
        public static let inventedWeights = 16
        /// The devices of an invented account: as many as the account's seed has draws for.
        public static let inventedDevices = 3
        /// The keys of a device of an invented account.
        public static let inventedKeys = 8
        /// The numbers for counting wrong passwords of unknown names. Each name has a number, and shares the number
        /// with other names.
        public static let unknownNames = 4096
        /// The accounts with counted refused attempts for the trail at a time. Past it the other accounts share one
        /// entry without an account.
        public static let refusedAccounts = 10_000
        /// The seconds of a day. Attempts at a password are counted by day.
        public static let daySeconds: Int64 = 24 * 60 * 60
        /// The doublings of the pause after wrong passwords. After so many doublings the longest pause is reached.
        public static let restDoublings = 16

        /// The bytes of a message. This many bytes are on their way before the other side reads. A longer message is
        /// not sent.
        public static let mailBytes = 4096
        /// The bytes of the mail command's output for the log. The rest is read and dropped.
        public static let mailCommandWordBytes = 1024

        // MARK: Store

        /// The clients that are kept in memory as they were read. Past it all clients are forgotten.
        public static let knownClients = 1500
        /// The number of values that a process seals before the process takes other keys. The number is far below 2³².
        /// After 2³² values two random nonces of one key would probably be the same.
        public static let sealedPerStretch = 1 << 24
        /// The keys of sealed values in a process's memory. Past it all keys are derived anew when needed.
        public static let keptSealingKeys = 4096
        /// The sealed values whose plaintext a process keeps in memory. Past it all values are opened anew when needed.
        public static let keptOpenedValues = 4096
        /// The rows that are examined, and sealed anew if needed, in a single step.
        public static let resealedRows = 100
        /// The reads of one thread at a time.
        public static let readsPerTurn = 32
        /// The commits waiting for the disk while the writer goes on. Past it the writer waits.
        public static let commitsAhead = 8
        /// The largest step back in time between an event and the audit entry before it, for which the event gets the
        /// earlier entry's moment. So the trail stays in the order of time, although steps wait for each other. A clock
        /// that was set back by more shows in the trail.
        public static let auditDisorder: Duration = .seconds(30)
        /// The audit entries in a single read of a check.
        public static let auditPage = 1000
        /// The bytes of a backup's manifest. A longer file is not a manifest.
        public static let backupManifestBytes = 64 * 1024
        /// The bytes copied at a time.
        public static let copyPieceBytes = 1024 * 1024
    }

    /// The limits of the PIN service, and of the server that asks the service.
    public enum Evaluations {
        /// The time until the service accepts a connection, or until a connection becomes free. Past it no question was
        /// asked.
        public static let connectTime: Duration = .seconds(2)
        /// The connections of a server to the service. Further questions wait for a connection.
        public static let connections = 32
        /// The questions of a server at a time, with the questions that wait for a connection. Past it no question was
        /// asked.
        public static let asking = 256
        /// The time for the service's answer. Past it the server does not know the effect of the question.
        public static let answerTime: Duration = .seconds(5)
        /// The bytes of a question and of an answer. A longer question is answered 413.
        public static let bodyBytes = 1024
        /// The questions that wait or are answered at a time, 2 ms each. Past it 503.
        public static let waiting = 512
        /// The requests of a phone about one PIN while its proofs are valid. Past it, 200 with `tooManyRequests`.
        public static let requestsPerQuestion = 8
        /// The first PINs that a phone may ask about with one proof of an activation's PIN. Past it, 200 with
        /// `pinAlreadyAsked`.
        public static let questionsPerProof = 5
        /// The time for which an evaluation counts. Past it the activation has one evaluation more.
        public static let window: Duration = .seconds(24 * 60 * 60)
    }

    /// The bounds past which `countersign doctor` calls a state bad.
    public enum Doctor {
        /// The longest wait of the oldest letter.
        public static let longestMailWait: Duration = .seconds(10 * 60)
        /// The bytes that have to be free on the disk of the data folder. If the database is larger, its size has to be
        /// free.
        public static let leastFreeBytes: Int64 = 512 * 1024 * 1024
        /// The shortest remaining validity of a certificate.
        public static let leastCertificateTime: Duration = .seconds(14 * 24 * 60 * 60)
        /// The largest difference between this machine's clock and another clock. Devices and services refuse times that
        /// are a minute off.
        public static let largestClockDifference: Duration = .seconds(30)
        /// The time for an answer over the network.
        public static let networkAnswerTime: Duration = .seconds(10)
        /// The bytes of an answer over the network that are read.
        public static let networkAnswerBytes = 256 * 1024
    }

    /// The limits of the operator's commands.
    public enum Commands {
        /// The time until a server accepts a connection. Past it the exit code is 5.
        public static let connectTime: Duration = .seconds(5)
        /// The time for an answer. Past it the exit code is 5.
        public static let answerTime: Duration = .seconds(30)
        /// The time for the check of a whole audit trail.
        public static let auditVerificationTime: Duration = .seconds(60 * 60)
        /// The time for a test letter. The time is longer than the time of the mail command (`mailCommandTime`).
        public static let mailTestTime: Duration = .seconds(45)
        /// The time for a proposal for invented accounts.
        public static let proposalTime: Duration = .seconds(5 * 60)
        /// The bytes of an answer that are read.
        public static let answerBytes = 1024 * 1024
        /// The values in an answer.
        public static let answerValues = 200_000
        /// The characters of a refusal's reason that are shown.
        public static let shownReasonCharacters = 1000
        /// The named differences of each kind after a restore. With `--json` all differences are named.
        public static let shownChanges = 20
        /// The letters of a server's path below its host. The path stands in every link and every QR code.
        public static let addressPathLetters = 64
        /// The interval between two questions of a command about the progress of an enrolment.
        public static let enrolmentPause: Duration = .milliseconds(500)
        /// The interval between two reports of a command about the progress of a copy.
        public static let progressPause: Duration = .seconds(2)
        /// The bytes of a file that `countersign uaf` reads. A metadata statement is the largest such file.
        public static let uafFileBytes = 256 * 1024
        /// The bytes of a file that `countersign receipt` reads. A document of keys is the largest such file.
        public static let receiptFileBytes = 256 * 1024
    }
}

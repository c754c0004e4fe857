import Ceremony
import UAF
import UAFClient

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The shared core of all operations of a client.
///
/// Every public value of the SDK with secrets holds the secrets through this value, which shows nothing to reflection.
struct ClientCore: Sendable, CustomReflectable, CustomStringConvertible {
    var description: String { "ClientCore" }
    var customMirror: Mirror { Mirror(self, children: [:]) }

    private(set) var configuration: ClientConfiguration
    let platform: DevicePlatform
    private(set) var channel: SecureChannel
    /// The policy for the operation's requests.
    private var retryPolicy = RetryPolicy.noRetry
    /// The policy for an authentication's signed answer.
    private var answerRetryPolicy: RetryPolicy
    let module: AuthenticatorModule
    let register: AccountRegister
    let facetID: FacetID
    /// The tokens that this device has redeemed.
    let redeemed: RedeemedTokens
    private let facetLists: FacetListCache
    private let traceRecorder: TraceRecorder?

    init(
        configuration: ClientConfiguration, platform: DevicePlatform, transport: any Transport,
        pinHardening: PinHardening,
        pictureDisplays: [DisplayPNGCharacteristics], traceRecorder: TraceRecorder?
    ) async throws {
        let facetID = try FacetID(configuration.facetID)
        let register = try AccountRegister(storage: platform.storage)
        let module = try AuthenticatorModule(
            platform: platform,
            configuration: AuthenticatorModule.Configuration(
                callerID: facetID, pinHardening: pinHardening, pictureDisplays: pictureDisplays))
        // Keys of a registration that was cut off before the server's answer have no owner.
        try await module.deleteAll(except: Set(register.records.flatMap(\.keys)))
        self.configuration = configuration
        self.answerRetryPolicy = .constant(
            maxRetries: configuration.authenticationMaxRetries, delay: configuration.authenticationRetryInterval)
        self.platform = platform
        self.channel = SecureChannel(transport: transport)
        self.module = module
        self.register = register
        self.facetID = facetID
        self.redeemed = RedeemedTokens(storage: platform.storage)
        self.facetLists = FacetListCache(clock: platform.clock)
        self.traceRecorder = traceRecorder
    }

    /// Returns the core for the requests of one operation. A value that is `nil` stays as it is.
    func changed(
        baseURL: URL, requestHeaders: [(name: String, value: String)]?, retryPolicy: RetryPolicy?,
        answerRetryPolicy: RetryPolicy?
    ) -> ClientCore {
        var core = self
        core.configuration.baseURL = baseURL
        if let fields = requestHeaders ?? self.channel.added?.fields {
            core.channel.added = AddedHeaders(
                fields: fields, authorities: [baseURL.authority].compactMap(\.self) + self.configuration.redeemHosts)
        }
        if let retryPolicy { core.retryPolicy = retryPolicy }
        if let answerRetryPolicy { core.answerRetryPolicy = answerRetryPolicy }
        return core
    }

    /// The core for requests that are not repeated.
    var unrepeated: ClientCore {
        var core = self
        core.retryPolicy = .noRetry
        return core
    }

    /// Begins the retries of one request.
    func newRetries() -> Retries { Retries(self.retryPolicy, clock: self.platform.clock) }

    /// Begins the retries of an authentication's signed answer.
    func newAnswerRetries() -> Retries { Retries(self.answerRetryPolicy, clock: self.platform.clock) }

    /// Checks that an account has a key that answers under the app's present name. Throws ``EngineError`` `appRenamed`
    /// if the app enrolled an account under another name, and no key of the account answers under the present name.
    func checkName(of record: StoredAccount?) throws(EngineError) {
        guard let former = self.module.formerName(of: record?.keys ?? []) else { return }
        throw EngineError(
            .appRenamed(former: former), "this app was called \(former) when it was enrolled; now \(self.facetID.text)")
    }

    /// Returns a recording of one operation, with the id that its requests carry.
    func newRecording() -> Recording { Recording(recorder: self.traceRecorder, random: self.platform.random) }

    /// Returns the UAF client for one operation.
    func messages(_ recording: Recording) -> MessageClient {
        MessageClient(
            module: self.module, facetID: self.facetID, cache: self.facetLists,
            fetchFacets: self.facetListFetch(recording))
    }

    /// Returns the function that fetches a facet list.
    func facetListFetch(_ recording: Recording) -> FacetAuthorization.Fetch {
        { [channel, configuration, retries = self.newRetries] url in
            let request = TransportRequest(
                method: "GET", url: url, headers: [("Accept", "application/fido.trusted-apps+json")], body: [],
                timeout: configuration.networkTimeout)
            var count = retries()
            let response = try await count.send { try await channel.send(request, recording) }
            return FacetListAnswer(
                status: response.status, contentType: response.header("Content-Type"),
                location: response.header("Location"),
                redirectAuthorized: response.header("FIDO-AppID-Redirect-Authorized"),
                cacheControl: response.header("Cache-Control"), age: response.header("Age"), body: response.body)
        }
    }

    /// The identities of this device towards the servers of its accounts.
    var identities: DeviceIdentities {
        DeviceIdentities(module: self.module, register: self.register, platform: self.platform)
    }

    /// The time that the app's screens have for their answers.
    var patience: Patience {
        Patience(
            clock: self.platform.clock, limit: self.configuration.userInteractionTimeout)
    }

    /// Replaces earlier keys of the account by keys to which the server has answered: see
    /// ``AccountRegister/settle(_:of:)``.
    func settle(_ keys: [KeyName], of account: AccountKey, _ appID: String) async throws {
        for key in try await self.register.settle(keys, of: account) {
            try await self.module.deregister(appID: appID, aaid: key.aaid, keyID: key.keyID)
        }
    }

    /// Forgets keys that a server has deleted, and the token of the deregistration.
    func forget(_ keys: [(record: StoredAccount, keys: [KeyName])], endingDeregistrationBy token: String) async throws {
        let before = await self.register.records
        for (appID, key) in try await self.register.remove(keys, endingDeregistrationBy: token) {
            try await self.module.deregister(appID: appID, aaid: key.aaid, keyID: key.keyID)
        }
        try await self.deleteIdentities(of: before)
    }

    /// Forgets keys of an account, and the account if no key remains with which a person answers. The register forgets
    /// the keys first: keys that remain after a failure are deleted at the next start.
    func forget(_ keys: [KeyName], of record: StoredAccount) async throws {
        let before = await self.register.records
        for key in try await self.register.remove(keys, from: record.key) {
            try await self.module.deregister(appID: record.appID, aaid: key.aaid, keyID: key.keyID)
        }
        try await self.deleteIdentities(of: before)
    }

    /// Deletes the keys with which the device authenticated itself to the servers of removed accounts.
    private func deleteIdentities(of records: [StoredAccount]) async throws {
        let left = await self.register.records.compactMap(\.identity)
        for identity in records.compactMap(\.identity) where !left.contains(identity) {
            try self.module.deleteIdentity(identity)
        }
    }
}

extension ClientCore {
    /// Returns the service and browser that request an operation, fit to be shown. A browser is new if none of the
    /// accounts has confirmed anything from it.
    func requester(of request: ReturnUAFRequest, for records: [StoredAccount]) async -> Requester? {
        guard let requester = request.requester else { return nil }
        var isNew = false
        if let browser = requester.browserID {
            isNew = true
            for record in records where await self.register.isApproved(browser: browser, by: record.key) {
                isNew = false
            }
        }
        return Requester(
            service: requester.service.map { DisplayText.line($0) },
            origin: requester.origin.map { DisplayText.origin($0) },
            address: requester.address.map { DisplayText.line($0) },
            browser: requester.browser.map { DisplayText.line($0) }, browserID: requester.browserID,
            isNewBrowser: isNew,
            channel: request.dispatchChannel.map { DisplayText.line($0) },
            channelLinking: requester.channelLinking.map { DisplayText.line($0) })
    }
}

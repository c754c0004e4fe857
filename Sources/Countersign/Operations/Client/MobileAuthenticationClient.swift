public import Ceremony
public import UAF
public import UAFClient

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A builder that creates the client. An app creates one client, and keeps it for the app's whole life.
///
/// ```swift
/// let client = try await MobileAuthenticationClientInitializer()
///     .configuration(ClientConfiguration(baseURL: address))
///     .platform(platform)
///     .execute()
/// ```
public struct MobileAuthenticationClientInitializer: SingleOperation {
    private let once = OneShot()
    fileprivate var configuration: ClientConfiguration?
    fileprivate var platform: DevicePlatform?
    fileprivate var transport: (any Transport)?
    fileprivate var securityInspection: (any SecurityInspection)?
    fileprivate var pinHardening = PinHardening()
    fileprivate var pictureDisplays: [PictureDisplay] = []
    fileprivate var traceRecorder: TraceRecorder?

    /// Creates an initializer. A configuration and a platform are still required.
    public init() {}

    /// Creates the client.
    ///
    /// The function first checks that the device has a passcode and inspects the device, and only then opens the
    /// storage. An error of these checks changes nothing on the device, and a new initializer can follow.
    ///
    /// The function sends nothing, with one exception: if the app ended while it carried out a service's
    /// deregistration, the function asks the server for the keys to delete. All of these requests together take at most
    /// five seconds. Requests that are not answered by then are repeated at the next start.
    public func perform() async throws(InitializationError) -> MobileAuthenticationClient {
        guard self.once.take() else { throw InitializationError(.operationReused) }
        guard let configuration, let platform, configuration.baseURL.authority != nil else {
            throw InitializationError(.invalidConfiguration, "configuration and platform are needed")
        }
        guard self.pinHardening.isSupported else {
            throw InitializationError(.invalidConfiguration, "scrypt does not take these numbers")
        }
        do {
            let transport = try (self.transport ?? URLSessionTransport()).enforcing(configuration.tlsPins)
            if configuration.isDeviceLockRequired {
                guard try await platform.hasDeviceLock() else {
                    throw InitializationError(.noDeviceLock, "the device has no passcode")
                }
            }
            if let flaw = await self.securityInspection?.flaw() {
                throw InitializationError(.deviceProtection, flaw)
            }
            let core = try await ClientCore(
                configuration: configuration, platform: platform, transport: transport,
                pinHardening: self.pinHardening, pictureDisplays: self.pictureDisplays,
                traceRecorder: self.traceRecorder)
            await DispatchedDeregistration.resume(core)
            return MobileAuthenticationClient(core: core)
        } catch let error as InitializationError {
            throw error
        } catch let error as StorageError {
            throw InitializationError(error)
        } catch let error as TransportError {
            throw InitializationError(.invalidConfiguration, error.reason)
        } catch is UAFError {
            throw InitializationError(.invalidConfiguration, "facetID must have 1 to 512 characters")
        } catch {
            throw InitializationError(.storageUnavailable, "\(error)")
        }
    }
}

extension MobileAuthenticationClientInitializer: CustomStringConvertible, CustomReflectable {
    /// A description without the initializer's parts, because the platform's storage holds everything.
    public var description: String { "MobileAuthenticationClientInitializer" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension OperationBuilder where Operation == MobileAuthenticationClientInitializer {
    /// Sets the configuration, with the server's address. Required.
    public func configuration(_ configuration: ClientConfiguration) -> Self {
        self.changing { $0.configuration = configuration }
    }
    /// Sets the capabilities of the device. Required.
    public func platform(_ platform: DevicePlatform) -> Self { self.changing { $0.platform = platform } }
    /// Sets the access to the network. The default is Foundation's URL loading.
    public func transport(_ transport: any Transport) -> Self { self.changing { $0.transport = transport } }
    /// Sets the app's inspection of the device's security. The default is no inspection.
    ///
    /// If the inspection finds that the operating system's protection was removed or that foreign code has reached into
    /// the app, or if the inspection fails, the client is not created: `deviceProtection`.
    public func securityInspection(_ inspection: any SecurityInspection) -> Self {
        self.changing { $0.securityInspection = inspection }
    }
    /// Sets the cost of one PIN guess for an attacker with the device's storage.
    public func pinHardening(_ hardening: PinHardening) -> Self { self.changing { $0.pinHardening = hardening } }
    /// Sets the kinds of PNG pictures that the app's selectors or its ``TransactionConfirmer`` show for confirmation,
    /// each with its exact size. The default is none.
    ///
    /// Servers learn the kinds at registrations. A picture arrives as the `transactionConfirmationData` of a context
    /// only if its file is of such a kind. If a text and a picture are possible, the SDK takes the text.
    public func pictureDisplays(_ displays: [PictureDisplay]) -> Self {
        self.changing { $0.pictureDisplays = displays }
    }
    /// Sets the recorder of the client's events: token redeemed, person verified, answer sent. The events never contain
    /// a person or the content of a message. By default no recorder is set.
    public func traceRecorder(_ recorder: TraceRecorder) -> Self { self.changing { $0.traceRecorder = recorder } }
}

/// The client SDK of an app.
public struct MobileAuthenticationClient: Sendable {
    let core: ClientCore

    /// The operations with the server, and the changes of PIN and password on this device.
    public var operations: Operations { Operations(core: self.core) }
    /// The data on this device.
    public var localData: LocalData { LocalData(core: self.core) }
    /// `true` if the keys are stored in a store for development, whose keys a reader of the device's disk can take. The
    /// app must say so to the person at the enrolment.
    public var isDevelopmentStore: Bool { self.core.platform.storage.isDevelopmentStore }
    /// Returns this device's identity towards an account's server; `nil` if the account does not exist. Throws
    /// `DeviceKeyError` and ``StorageError``.
    package func deviceIdentity(of account: RegisteredAccount) async throws -> DeviceIdentity? {
        try await self.core.identities.identity(
            of: AccountKey(server: account.server.baseURL, username: account.username))
    }
    /// The configuration with which the client was created.
    public var configuration: ClientConfiguration { self.core.configuration }
}

extension MobileAuthenticationClient: CustomReflectable {
    /// A mirror with the configuration only, because the other parts hold keys, secrets of devices and tokens.
    public var customMirror: Mirror { Mirror(self, children: ["configuration": self.configuration]) }
}

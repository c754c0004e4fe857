public import Ceremony
import JOSE
import UAF
public import UAFClient
import _Primitives

/// Personalised identities on this device: what an app begins with.
///
/// One for an app, ``shared``, which is initialised once. A server personalises the app (``personalizer``), and from then on
/// a person authenticates with it (``authenticator``) wherever services ask their server. What an app's own tests make beside
/// it is a phone of its own.
public final class CountersignSDK: Sendable {
    /// The app's.
    public static let shared = CountersignSDK()

    private let life = SDKLife()

    /// Another one than the app's.
    public init() {}

    /// Authenticates a person.
    public var authenticator: Authenticator { Authenticator(life: self.life) }
    /// Makes identities, changes them and takes them away.
    public var personalizer: Personalizer { Personalizer(life: self.life) }
    /// What all processes have in common: codes, sessions, and the look at the device.
    public var common: CommonProcesses { CommonProcesses(life: self.life) }
    /// Fingers and faces.
    public var biometrics: Biometrics { Biometrics(life: self.life) }

    /// Gets ready: opens what is stored, fetches the servers' keys where they are older than a day, and brings to an end what
    /// was interrupted. Without a network it gets ready all the same.
    ///
    /// Identities are kept in the platform's storage, beside what a ``MobileAuthenticationClient`` over the same one keeps:
    /// neither touches the other's.
    ///
    /// Throws ``CountersignError``: `alreadyInitialized`, `invalidConfiguration`, `deviceLockNotSet`, `storageUnavailable`,
    /// `storageCorrupt`, `storageNewer`, `keyRemovedBySystem`, `cancelled`, `unexpected`; after each but the first it can be called
    /// again.
    public func initialize(
        _ configuration: IdentityConfiguration, platform: DevicePlatform,
        transport: any Transport = URLSessionTransport(),
        traceRecorder: TraceRecorder? = nil
    ) async throws {
        try await self.life.begin {
            let core = try await CountersignError.running {
                do {
                    return try await IdentityCore(
                        configuration: configuration, platform: platform, transport: transport,
                        traceRecorder: traceRecorder)
                } catch let error
                    where error is EngineError || error is JOSEError || error is JSONError || error is UAFError
                {
                    // What an app has named: its servers, their keys, and itself. What fails below is no mistake of its.
                    throw CountersignError(.invalidConfiguration, "\(error)")
                }
            }
            // Where the platform has no such ability there is nobody to ask, as the configuration says.
            if configuration.isDeviceLockRequired, let passcode = platform.devicePasscode {
                guard try await Self.hasPasscode(passcode) else { throw CountersignError(.deviceLockNotSet) }
            }
            await core.getReady()
            return core
        }
    }

    /// Whether the device has a passcode, as far as can be told. Throws ``CountersignError``.
    private static func hasPasscode(_ passcode: any DevicePasscode) async throws -> Bool {
        try await CountersignError.running {
            do { return try await passcode.enrolment() != nil } catch is SensorError { return false }
        }
    }

    /// As ``initialize(_:platform:transport:traceRecorder:)``. It blocks: not on the main thread, and not in a task.
    public func initializeSynchronous(
        _ configuration: IdentityConfiguration, platform: DevicePlatform,
        transport: any Transport = URLSessionTransport(),
        traceRecorder: TraceRecorder? = nil
    ) throws {
        try Blocking.wait {
            try await self.initialize(
                configuration, platform: platform, transport: transport, traceRecorder: traceRecorder)
        }
    }
}

extension CountersignSDK: CustomReflectable, CustomStringConvertible {
    /// The type alone.
    public var description: String { "CountersignSDK" }
    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

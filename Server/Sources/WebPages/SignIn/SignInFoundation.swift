package import Accounts
package import CeremonyEngine
import OAuthProvider
package import Records
package import Settings
import Synchronization
package import _Primitives

/// The parts of a server that its ways to sign in are made of. The provider opens over the ways, so no part is the
/// provider's.
package struct SignInFoundation: Sendable {
    let store: any FinishedSignInStore & UpstreamStore
    let directory: AccountDirectory
    let passwords: PasswordAccounts
    let ceremonies: LateCeremonies
    let limits: Limits
    let time: TimeSource
    let random: RandomSource

    /// Names the parts.
    package init(
        store: any FinishedSignInStore & UpstreamStore, directory: AccountDirectory, passwords: PasswordAccounts,
        ceremonies: LateCeremonies, limits: Limits, time: TimeSource, random: RandomSource
    ) {
        self.store = store
        self.directory = directory
        self.passwords = passwords
        self.ceremonies = ceremonies
        self.limits = limits
        self.time = time
        self.random = random
    }

    /// The finished sign-ins, for ways whose outcomes are stored.
    var finished: FinishedSignIns {
        FinishedSignIns(store: self.store, limits: self.limits, time: self.time)
    }
}

/// The ceremonies, which open after the provider: the provider asks the ceremonies for outcomes, and the ceremonies ask
/// the provider for subjects.
///
/// The server keeps the ceremonies. With a strong reference here, the provider and the ceremonies would keep each other,
/// and a server would never be released.
package final class LateCeremonies: Sendable {
    private struct Opened {
        weak var engine: CeremonyEngine?
    }

    private let opened = Mutex(Opened())

    /// Creates ceremonies that are not open yet.
    package init() {}

    /// The ceremonies of sign-ins; `nil` while the ceremonies are not open.
    var signIns: SignIns? { self.opened.withLock { $0.engine?.signIns } }
    /// The sign-ins that begin with a name; `nil` while the ceremonies are not open.
    var askedSignIns: AskedSignIns? { self.opened.withLock { $0.engine?.askedSignIns } }
    /// The questions without a browser; `nil` while the ceremonies are not open.
    package var backchannel: BackchannelSignIns? { self.opened.withLock { $0.engine?.backchannel } }

    /// Takes the ceremonies, which are open from now on, for as long as the server keeps the ceremonies.
    package func open(_ engine: CeremonyEngine) { self.opened.withLock { $0.engine = engine } }
}

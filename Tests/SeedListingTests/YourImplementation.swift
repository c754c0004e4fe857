import Countersign
import CountersignNames
import CountersignTestKit
import Foundation

/// What the listings leave to an app: a person who answers by a script.
enum YourImplementation {
    struct Script: Sendable {
        var role: @Sendable ([Role]) -> Role = { $0[0] }
        var names = ["Ada"]
        var alias: @Sendable (Set<PersonalInformationAlias>) -> PersonalInformationAlias = { $0.first! }
        var pins = ["824193"]
        /// What happens before a PIN is asked for again.
        var beforeNextPin: @Sendable () -> Void = {}
        /// What the person gives for the attributes of an app that confirms them all.
        var answers = Answers()
        /// Whether they let the service have what it can do without, one time after the other.
        var gives = [false]
        var newPins = ["970358"]
        var deletes = true
        /// How the time passes until a lockout is over.
        var wait: @Sendable (Date) -> Void = { _ in }
        /// What the person was shown.
        var errorTexts: [String?] = []
        var shownRoles: [String] = []
        var questions: [String] = []
        var told: [PersonalAttribute] = []
        var signed: [[String]] = []
        var waits: [Date] = []
        /// How often the person had to choose among values.
        var shownAliases = 0
    }

    private static let lock = NSLock()
    // Safe to share: every access is within `lock`.
    nonisolated(unsafe) private static var state = Script()

    static var script: Script {
        get { self.lock.withLock { self.state } }
        set { self.lock.withLock { self.state = newValue } }
    }

    /// Changes the script, and gives what that gives.
    @discardableResult static func change<Value>(_ body: (inout Script) -> Value) -> Value {
        self.lock.withLock { body(&self.state) }
    }

    static func displayRoleSelection(_ roles: [Role]) -> Role {
        self.script.shownRoles = roles.map(\.name)
        return self.script.role(roles)
    }

    static func askTheUserForData(minLength: Int, maxLength: Int, errorText: String?) -> String {
        self.lock.withLock {
            self.state.errorTexts.append(errorText)
            return self.state.names.count > 1 ? self.state.names.removeFirst() : self.state.names[0]
        }
    }

    static func displayAliasSelection(_ aliases: Set<PersonalInformationAlias>) -> PersonalInformationAlias {
        self.change { $0.shownAliases += 1 }
        return self.script.alias(aliases)
    }

    static func askUserForPin() -> String {
        let (pin, isRepeated) = self.lock.withLock { () -> (String, Bool) in
            guard self.state.pins.count > 1 else { return (self.state.pins[0], true) }
            return (self.state.pins.removeFirst(), false)
        }
        if isRepeated { self.script.beforeNextPin() }
        return pin
    }

    static func getBiometricFactor() throws -> BiometricFactor {
        let sdk = CountersignSDK.shared
        let identity = try sdk.personalizer.personalizedIdentities[0]
        return try sdk.biometrics.factorSynchronous(idmIdentifier: identity.idmIdentifier)
    }
}

/// The error of an app.
enum YourError: Error {
    case yourErrorCase
}

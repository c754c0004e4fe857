#if canImport(Security)
    import Countersign
    import Foundation
    import Security

    extension KeyAccess {
        /// Makes the system's access control. Throws ``SystemRefusal``.
        func control(isForKey: Bool) throws -> SecAccessControl {
            var flags: SecAccessControlCreateFlags = isForKey ? [.privateKeyUsage] : []
            switch self.demand {
            case .nobody: break
            case .currentBiometry: flags.formUnion([.biometryCurrentSet])
            case .anyBiometry: flags.formUnion([.biometryAny])
            case .anyBiometryOrPasscode: flags.formUnion([.biometryAny, .or, .devicePasscode])
            case .passcode: flags.formUnion([.devicePasscode])
            }
            var error: Unmanaged<CFError>?
            guard let control = SecAccessControlCreateWithFlags(nil, self.protection.attribute, flags, &error) else {
                let reason = error?.takeRetainedValue()
                throw reason.map { SystemRefusal($0) } ?? SystemRefusal(.other, 0)
            }
            return control
        }
    }

    extension KeyAccess.Protection {
        /// The value of `kSecAttrAccessible`.
        var attribute: CFString {
            switch self {
            case .afterFirstUnlock: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            case .whenUnlocked: kSecAttrAccessibleWhenUnlockedThisDeviceOnly
            case .whilePasscodeIsSet: kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
            }
        }
    }

    extension SystemRefusal {
        /// Creates a refusal from any error of the system.
        init(_ error: any Error) {
            let error = error as NSError
            self.init(domain: error.domain, code: error.code)
        }

        /// Runs `body`, and throws each error of the system as a refusal.
        static func translating<Value>(_ body: () throws -> Value) throws -> Value {
            do {
                return try body()
            } catch let refusal as SystemRefusal {
                throw refusal
            } catch {
                throw SystemRefusal(error)
            }
        }
    }
#endif

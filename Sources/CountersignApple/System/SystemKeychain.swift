#if canImport(Security)
    import Countersign
    import Foundation
    import LocalAuthentication
    import Security

    /// The Keychain of the device.
    struct SystemKeychain: Keychain {
        /// The access group of the items; `nil` for the app's own group.
        let accessGroup: String?

        func value(of item: KeychainItem, approvedBy approval: (any PersonApproval)?) -> KeychainAnswer {
            var query = self.query(item)
            query[kSecReturnData] = true
            query[kSecMatchLimit] = kSecMatchLimitOne
            // Without an approval nothing asks the person.
            let context = (approval as? ContextApproval)?.context ?? LAContext()
            context.interactionNotAllowed = true
            query[kSecUseAuthenticationContext] = context
            var result: CFTypeRef?
            let status = KeychainStatus(rawValue: SecItemCopyMatching(query as CFDictionary, &result))
            guard status == .success else { return .refused(status) }
            guard let data = result as? Data else { return .refused(.undecodable) }
            return .value(Array(data))
        }

        func update(_ value: [UInt8], of item: KeychainItem) -> KeychainStatus {
            let change: [CFString: Any] = [kSecValueData: Data(value)]
            return KeychainStatus(
                rawValue: SecItemUpdate(self.query(item) as CFDictionary, change as CFDictionary))
        }

        func add(_ value: [UInt8], as item: KeychainItem, _ protection: ItemProtection) -> KeychainStatus {
            var attributes = self.query(item)
            attributes[kSecValueData] = Data(value)
            switch protection {
            case .afterFirstUnlock:
                attributes[kSecAttrAccessible] = kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly
            case .whilePasscodeIsSet:
                attributes[kSecAttrAccessible] = kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly
            case .biometrics(let guardian):
                let access = KeyAccess(
                    .whilePasscodeIsSet, guardian == .currentSet ? .currentBiometry : .anyBiometry)
                guard let control = try? access.control(isForKey: false) else { return .notAvailable }
                attributes[kSecAttrAccessControl] = control
            }
            return KeychainStatus(rawValue: SecItemAdd(attributes as CFDictionary, nil))
        }

        func remove(_ item: KeychainItem) -> KeychainStatus {
            KeychainStatus(rawValue: SecItemDelete(self.query(item) as CFDictionary))
        }

        private func query(_ item: KeychainItem) -> [CFString: Any] {
            var query: [CFString: Any] = [
                kSecClass: kSecClassGenericPassword, kSecAttrService: item.service, kSecAttrAccount: item.account,
                // The Keychain of a Mac that protects data as a phone does; without effect on a phone.
                kSecUseDataProtectionKeychain: true, kSecAttrSynchronizable: false,
            ]
            if let accessGroup { query[kSecAttrAccessGroup] = accessGroup }
            return query
        }
    }
#endif

#if canImport(Security)
    public import AuthenticationServices
    public import Countersign
    import Foundation
    import LocalAuthentication
    import Security

    extension DevicePlatform {
        /// Returns the abilities of this device of Apple: the Keychain as storage, keys in the Secure Enclave, finger or
        /// face, the passcode, App Attest and the clocks.
        ///
        /// Without a Secure Enclave, as in a simulator, the keys are in the storage. An app with faces needs
        /// `NSFaceIDUsageDescription` in its `Info.plist`. Each extension of an app has accounts of its own.
        ///
        /// - Parameter accessGroup: The access group of the Keychain for the values; `nil` for the app's own group.
        /// - Throws: ``StorageError``: `inUse` while another process of the app has the storage, `locked` before the
        ///   first unlock after a start, `unavailable` if the system does not name its start.
        public static func apple(accessGroup: String? = nil) throws -> DevicePlatform {
            let keychain = SystemKeychain(accessGroup: accessGroup)
            let service = AppleFolder.application + ".countersign"
            let person = SystemDialog(usualReason: AppleFolder.title)
            let biometry = SystemDialog.biometryType
            return DevicePlatform(
                storage: try KeychainStorage(
                    keychain, service: service, lockPath: try AppleFolder.own().appending(path: "operations.lock").path),
                keys: SystemEnclave.isAvailable ? EnclaveKeys(SystemEnclave(), person) : nil,
                fingerprintSensor: biometry == .touchID ? SystemSensor(person) : nil,
                faceSensor: biometry == .faceID ? SystemSensor(person) : nil,
                devicePasscode: SystemPasscode(person, keychain, service: service + ".passcode"),
                // A device or an extension without App Attest: the server decides if the app is accepted.
                appAttestor: try? AppleAppAttestor(),
                clock: try AppleDeviceClock())
        }
    }

    extension SignInPlatform {
        /// Returns the abilities of this device of Apple for signing in: the Keychain as storage and as guard of secrets,
        /// and the system's own sign-in on the web.
        ///
        /// - Parameters:
        ///   - accessGroup: The access group of the Keychain that an app shares with its extensions; `nil` for an app
        ///     without extensions.
        ///   - appGroup: The app group of the same processes, for their locks; `nil` for an app without extensions.
        ///   - webViews: The app's web views, such as ``SystemWebViews``.
        ///   - anchor: Returns the window over which the browser's page is shown.
        /// - Throws: ``StorageError``: `unsupported` for an app group that the app does not have, and as
        ///   `DevicePlatform.apple(accessGroup:)`.
        public static func apple(
            accessGroup: String? = nil, appGroup: String? = nil, webViews: (any WebViews)? = nil,
            anchor: @escaping @MainActor @Sendable () -> ASPresentationAnchor
        ) throws -> SignInPlatform {
            let keychain = SystemKeychain(accessGroup: accessGroup)
            let service = "countersign.sign-in." + (accessGroup ?? AppleFolder.application)
            let person = SystemDialog(usualReason: AppleFolder.title)
            return SignInPlatform(
                storage: SharedKeychainStorage(
                    keychain, service: service, lockFolder: try AppleFolder.ofLocks(appGroup).path),
                installation: KeychainInstallationMark(
                    keychain, service: service + ".installation",
                    path: try AppleFolder.own().appending(path: "installed").path),
                webAuthentication: SystemWebAuthentication(anchor: anchor),
                biometricKeys: SystemDialog.biometryType == .none
                    ? nil : KeychainGuardedKeys(person, keychain, service: service + ".guarded"),
                webViews: webViews, clock: try AppleDeviceClock())
        }
    }

    extension SharedKeychainStorage {
        /// Opens the storage that the apps of one maker share, for `SignInPlatform.sharedStorage`.
        ///
        /// Throws ``StorageError`` `unsupported` for an app group that the app does not have.
        public init(accessGroup: String, appGroup: String) throws {
            self.init(
                SystemKeychain(accessGroup: accessGroup), service: "countersign.shared." + accessGroup,
                lockFolder: try AppleFolder.ofLocks(appGroup).path)
        }
    }

    /// The folders and names of the app.
    private enum AppleFolder {
        static var application: String { Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName }

        /// The name that people read below the app's picture.
        static var title: String {
            let name = Bundle.main.object(forInfoDictionaryKey: "CFBundleDisplayName") as? String
            return name ?? ProcessInfo.processInfo.processName
        }

        /// The folder of this app alone, which disappears with the app.
        static func own() throws -> URL {
            let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
            guard let folder = folders.first else { throw StorageError(.unavailable, "the app has no folder") }
            return try self.made(folder.appending(path: "Countersign/\(self.application)"))
        }

        static func ofLocks(_ appGroup: String?) throws -> URL {
            guard let appGroup else { return try self.own() }
            guard let group = FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: appGroup) else {
                throw StorageError(.unsupported, "the app does not have the app group")
            }
            return try self.made(group.appending(path: "Countersign"))
        }

        private static func made(_ folder: URL) throws -> URL {
            do {
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                return folder
            } catch {
                throw StorageError(.unavailable, "the app's folder cannot be made")
            }
        }
    }
#endif

// swift-tools-version: 6.2
import PackageDescription

/// The server, the terminal phone and the example bank, on top of the SDK package in the folder above.

/// Products of the SDK package.
func sdk(_ names: String...) -> [Target.Dependency] { names.map { .product(name: $0, package: "countersign") } }
let crypto: Target.Dependency = .product(name: "Crypto", package: "swift-crypto")
let cryptoExtras: Target.Dependency = .product(name: "CryptoExtras", package: "swift-crypto")
let x509: Target.Dependency = .product(name: "X509", package: "swift-certificates")
let log: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let arguments: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let configuration: Target.Dependency = .product(name: "Configuration", package: "swift-configuration")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let hummingbirdCore: Target.Dependency = .product(name: "HummingbirdCore", package: "hummingbird")
let hummingbirdTLS: Target.Dependency = .product(name: "HummingbirdTLS", package: "hummingbird")
let hummingbirdTesting: Target.Dependency = .product(name: "HummingbirdTesting", package: "hummingbird")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let httpTypes: Target.Dependency = .product(name: "HTTPTypes", package: "swift-http-types")
let httpClient: Target.Dependency = .product(name: "AsyncHTTPClient", package: "async-http-client")
let nio: Target.Dependency = .product(name: "NIOCore", package: "swift-nio")
let nioEmbedded: Target.Dependency = .product(name: "NIOEmbedded", package: "swift-nio")
let nioPosix: Target.Dependency = .product(name: "NIOPosix", package: "swift-nio")
let nioHTTP1: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let unixSignals: Target.Dependency = .product(name: "UnixSignals", package: "swift-service-lifecycle")
let system: Target.Dependency = .product(name: "SystemPackage", package: "swift-system")
let nioSSL: Target.Dependency = .product(name: "NIOSSL", package: "swift-nio-ssl")
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift")
let sqlite: Target.Dependency = .product(name: "GRDBSQLite", package: "GRDB.swift")
let mustache: Target.Dependency = .product(name: "Mustache", package: "swift-mustache")
let asn1: Target.Dependency = .product(name: "SwiftASN1", package: "swift-asn1")

let package = Package(
    name: "countersign-server",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "countersign", targets: ["CountersignCommand"]),
        .executable(name: "countersign-phone", targets: ["PhoneCommand"]),
        .executable(name: "bank", targets: ["BankCommand"]),
        // For the benchmarks, which are a separate package.
        .library(name: "UAFRelyingParty", targets: ["UAFRelyingParty"]),
        .library(name: "Passwords", targets: ["Passwords"]),
        .library(name: "Secp256k1TestKeys", targets: ["Secp256k1TestKeys"]),
        .library(name: "CeremonyEngine", targets: ["CeremonyEngine", "Settings", "Records"]),
    ],
    dependencies: [
        .package(name: "countersign", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-asn1", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-certificates", from: "1.21.1"),
        // Each package has one trait, the same as in Examples/BackEnd. SwiftPM passes several traits to the compiler in
        // an order that changes from build to build, and after a change compiles everything above the package again.
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: ["YAML"]),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: ["FullFoundation"]),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", from: "2.1.1"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
    ],
    targets: [
        // C libraries from the system
        .systemLibrary(name: "CQREncode", pkgConfig: "libqrencode", providers: [.apt(["libqrencode-dev"])]),
        .systemLibrary(name: "CPNG", pkgConfig: "libpng", providers: [.apt(["libpng-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CZBar", pkgConfig: "zbar", providers: [.apt(["libzbar-dev"])]),
        .systemLibrary(name: "CSecp256k1", pkgConfig: "libsecp256k1", providers: [.apt(["libsecp256k1-dev"])]),
        .systemLibrary(name: "CArgon2", pkgConfig: "libargon2", providers: [.apt(["libargon2-dev"])]),
        .systemLibrary(name: "CSystemClock"),
        .systemLibrary(name: "CCrypt", pkgConfig: "libcrypt", providers: [.apt(["libcrypt-dev"])]),
        .systemLibrary(name: "CSQLiteSettings", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        // Floor 4
        .target(name: "Settings", dependencies: sdk("_Primitives")),
        // Floor 5
        .target(
            name: "UAFRelyingParty",
            dependencies: sdk("_Primitives", "UAF") + [crypto, cryptoExtras, x509, asn1, "CSecp256k1"],
            resources: [.embedInCode("Metadata")]),
        .target(
            name: "Records",
            dependencies: sdk("_Primitives", "JOSE", "PersonalInformation", "UAF", "OAuth") + ["Settings", crypto]),
        .target(name: "Passwords", dependencies: sdk("_Primitives") + [crypto, cryptoExtras, "CArgon2", "CCrypt"]),
        // Floor 6
        .target(name: "Sealing", dependencies: sdk("_Primitives") + ["Settings", "Records", crypto]),
        .target(name: "Texts", dependencies: sdk("_Primitives")),
        // Floor 7
        .target(
            name: "SQLStore",
            dependencies: sdk("_Primitives", "JOSE", "PersonalInformation") + ["Settings", "Records", "Sealing"]),
        .target(
            name: "Pages", dependencies: sdk("_Primitives") + ["Texts", mustache, crypto, "CQREncode", "CZlib"]),
        .target(
            name: "CeremonyEngine",
            dependencies: sdk("_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony") + [
                "Settings", "Records", "Sealing", "UAFRelyingParty", crypto,
            ]),
        .target(
            name: "OAuthProvider",
            dependencies: sdk("_Primitives", "JOSE", "OAuth") + ["Settings", "Records", "Sealing", crypto]),
        .target(
            name: "Accounts",
            dependencies: sdk("_Primitives", "PersonalInformation", "Ceremony") + [
                "Settings", "Records", "Sealing", "Passwords", "Texts",
            ]),
        // Floor 8
        .target(
            name: "SQLiteStore",
            dependencies: sdk("_Primitives") + [
                "Settings", "Records", "Sealing", "SQLStore", grdb, sqlite, crypto, "CSQLiteSettings",
            ]),
        .target(
            name: "AppSignIn",
            dependencies: sdk("_Primitives", "JOSE", "OAuth") + [
                "OAuthProvider", "Settings", "Records", "Sealing", crypto,
            ]),
        .target(
            name: "Endpoints",
            dependencies: sdk("_Primitives", "UAF", "Ceremony", "OAuth") + [
                "Texts", "CeremonyEngine", "OAuthProvider", "Accounts", "Passwords", "Settings", "Records", hummingbird,
                httpTypes, lifecycle, log, metrics, nio, crypto,
            ]),
        .target(
            name: "Push",
            dependencies: sdk("_Primitives", "JOSE", "UAF", "Ceremony") + [
                "CeremonyEngine", "Settings", "Records", httpClient, nio, nioHTTP1, nioSSL, crypto, cryptoExtras,
            ]),
        // Floor 9
        .target(
            name: "PublicAPI",
            dependencies: sdk("_Primitives", "JOSE", "UAF", "Ceremony", "OAuth") + [
                "Endpoints", "Pages", "CeremonyEngine", "OAuthProvider", "Accounts", "Settings", "Records", hummingbird,
                httpTypes, nio, crypto,
            ]),
        .target(
            name: "AdminAPI",
            dependencies: sdk("_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony", "OAuth") + [
                "Endpoints", "Pages", "CeremonyEngine", "OAuthProvider", "Accounts", "Settings", "Records",
                "UAFRelyingParty", hummingbird, httpTypes, log,
            ]),
        .target(
            name: "WebPages",
            dependencies: sdk("_Primitives", "PersonalInformation", "UAF", "Ceremony", "OAuth") + [
                "Endpoints", "Texts", "Pages", "CeremonyEngine", "OAuthProvider", "AppSignIn", "Accounts", "Passwords",
                "Settings", "Records", "UAFRelyingParty", hummingbird, httpTypes, nio, crypto,
            ]),
        // Floor 10
        .target(
            name: "CountersignServer",
            dependencies: sdk("_Primitives", "PersonalInformation", "UAF", "Ceremony", "OAuth") + [
                "Endpoints", "PublicAPI", "AdminAPI", "WebPages", "Texts", "CeremonyEngine", "OAuthProvider",
                "AppSignIn", "Accounts", "Passwords", "Settings", "Records", "Sealing", "UAFRelyingParty", hummingbird,
                httpTypes, lifecycle, log, nio,
            ]),
        // Floor 11
        .executableTarget(
            name: "CountersignCommand",
            dependencies: sdk("_Primitives", "JOSE", "UAF", "Ceremony", "OAuth") + [
                "CountersignServer", "Endpoints", "WebPages", "CeremonyEngine", "OAuthProvider", "AppSignIn",
                "Accounts", "Pages", "Passwords", "Push", "SQLStore", "SQLiteStore", "Settings", "Records", "Sealing",
                "UAFRelyingParty", arguments, configuration, hummingbird, hummingbirdCore, hummingbirdTLS, httpClient,
                lifecycle, log, metrics, nio, nioHTTP1, nioSSL, system, unixSignals, x509, asn1, crypto, cryptoExtras,
                "CSystemClock",
            ]),
        .executableTarget(
            name: "PhoneCommand",
            dependencies: sdk(
                "_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony", "UAFClient", "Countersign",
                "CountersignLinux", "CountersignTPM", "CountersignTestKit")
                + ["Pages", arguments, httpClient, nio, nioHTTP1, nioSSL, "CZBar", "CPNG"]),
        .executableTarget(
            name: "BankCommand",
            dependencies: [
                arguments, hummingbird, hummingbirdTLS, httpTypes, httpClient, lifecycle, log, nio, nioHTTP1, nioSSL,
                crypto,
            ]),

        // Private keys on secp256k1. No program of this product makes such keys.
        .target(
            name: "Secp256k1TestKeys", dependencies: sdk("_Primitives", "UAF") + [crypto, "CSecp256k1"],
            path: "Tests/Secp256k1TestKeys"),
        .testTarget(
            name: "UAFRelyingPartyTests",
            dependencies: sdk("_Primitives", "UAF", "Ceremony", "CountersignTestKit") + [
                "UAFRelyingParty", "Secp256k1TestKeys", crypto, cryptoExtras, x509, asn1,
            ]),
        .testTarget(name: "PasswordsTests", dependencies: sdk("_Primitives") + ["Passwords", crypto]),
        // New stores with a schema that is made once.
        .target(
            name: "FreshStores", dependencies: ["SQLStore", "SQLiteStore", "Settings", "Records", "Sealing", grdb],
            path: "Tests/FreshStores"),
        // The suite that every store passes.
        .target(
            name: "StoreConformance",
            dependencies: sdk("_Primitives", "JOSE", "PersonalInformation", "UAF", "OAuth") + [
                "Settings", "Records", crypto,
            ], path: "Tests/StoreConformance"),
        .testTarget(
            name: "RecordsTests",
            dependencies: sdk("_Primitives", "JOSE", "PersonalInformation", "UAF", "OAuth") + ["Records", "Settings"]),
        .testTarget(name: "SQLStoreTests", dependencies: ["SQLStore"]),
        .testTarget(
            name: "SQLiteStoreTests",
            dependencies: sdk("_Primitives", "JOSE", "PersonalInformation", "UAF") + [
                "FreshStores", "SQLStore", "SQLiteStore", "StoreConformance", "Settings", "Records", "Sealing", crypto,
                grdb,
            ]),
        .testTarget(
            name: "CeremonyEngineTests",
            dependencies: sdk("_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony", "CountersignTestKit") + [
                "CeremonyEngine", "Accounts", "FreshStores", "SQLStore", "SQLiteStore", "Settings", "Records",
                "Sealing", "StoreConformance", "UAFRelyingParty", "Secp256k1TestKeys", crypto, sqlite,
            ]),
        .testTarget(
            name: "AccountsTests",
            dependencies: sdk("_Primitives", "PersonalInformation", "UAF") + [
                "Accounts", "FreshStores", "Passwords", "SQLStore", "Records",
            ]),
        .testTarget(
            name: "OAuthProviderTests",
            dependencies: sdk("_Primitives", "JOSE", "OAuth") + [
                "OAuthProvider", "AppSignIn", "FreshStores", "SQLStore", "Settings", "Records", "Sealing", crypto,
            ]),
        .testTarget(
            name: "PushTests",
            dependencies: sdk("_Primitives", "JOSE", "UAF", "Ceremony") + [
                "Push", "CeremonyEngine", "Settings", "Records", nio, nioPosix, nioHTTP1, nioSSL, crypto, cryptoExtras,
                x509, asn1,
            ]),
        .testTarget(name: "TextsTests", dependencies: ["Texts"]),
        .testTarget(
            name: "PagesTests",
            dependencies: sdk("_Primitives", "Ceremony") + ["Pages", "Texts", "CPNG", "CZBar"]),
        // The listings of the identities' documentation. The SDK's package tries the same listings without a server.
        .target(
            name: "SeedListing",
            dependencies: sdk("Countersign", "CountersignNames", "CountersignTestKit"),
            path: "Tests/SeedListing", swiftSettings: [.unsafeFlags(["-suppress-warnings"])]),
        .testTarget(
            name: "CountersignServerTests",
            dependencies: sdk(
                "_Primitives", "JOSE", "PersonalInformation", "UAF", "Ceremony", "OAuth", "UAFClient", "Countersign",
                "CountersignBackend", "CountersignLinux", "CountersignTestKit") + [
                    "SeedListing", "CountersignServer", "Endpoints", "WebPages", "CeremonyEngine", "FreshStores",
                    "OAuthProvider", "AppSignIn", "Accounts", "Passwords", "Texts", "SQLStore", "Settings", "Records",
                    "Sealing", "UAFRelyingParty", "PhoneCommand", hummingbird, hummingbirdTLS, hummingbirdTesting,
                    httpTypes, crypto, cryptoExtras, log, metrics, nio, nioPosix, nioSSL, x509, asn1, grdb,
                ]),
        // Reported bugs of other products, each tried here with the means of the server's tests.
        .testTarget(
            name: "PublicReports",
            dependencies: sdk("_Primitives", "JOSE", "Ceremony", "OAuth", "Countersign", "CountersignTestKit") + [
                "CountersignServerTests", "CountersignCommandTests", "CountersignCommand", "CountersignServer",
                "Endpoints", "CeremonyEngine", "OAuthProvider", "Accounts", "Passwords", "SQLStore", "Settings",
                "Records", hummingbird, hummingbirdTesting, httpTypes, crypto, log, nio,
            ]),
        .testTarget(
            name: "BankCommandTests",
            dependencies: ["BankCommand", hummingbird, hummingbirdTesting, httpTypes, arguments, log, nio, crypto]),
        .testTarget(
            name: "PhoneCommandTests",
            dependencies: sdk("_Primitives", "UAF", "Ceremony", "UAFClient", "Countersign", "CountersignTestKit") + [
                "PhoneCommand", arguments,
            ]),
        .testTarget(
            name: "CountersignCommandTests",
            dependencies: sdk(
                "_Primitives", "JOSE", "PersonalInformation", "UAF", "UAFClient", "Ceremony", "OAuth",
                "CountersignTestKit"
            ) + [
                "CountersignCommand", "CountersignServer", "Endpoints", "CeremonyEngine", "OAuthProvider",
                "AppSignIn", "Accounts", "Push", "SQLStore", "SQLiteStore", "UAFRelyingParty", "Settings",
                "Records", "Sealing", arguments,
                hummingbird, hummingbirdTesting, httpTypes, crypto, cryptoExtras, lifecycle, log, metrics,
                hummingbirdTLS, httpClient, nio,
                nioHTTP1, nioEmbedded, nioSSL, x509, asn1,
            ]),
        // The fuzz targets' code for data that only the server judges.
        .testTarget(
            name: "ServerFuzzReplayTests",
            dependencies: sdk("_Primitives", "UAF", "Ceremony", "CountersignTestKit") + [
                "UAFRelyingParty", "CeremonyEngine", "Records", "Passwords", nioHTTP1,
            ]),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets where target.type != .system && target.name != "SeedListing" {
    target.swiftSettings = [
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("ExistentialAny"),
        .treatAllWarnings(as: .error),
    ]
}
